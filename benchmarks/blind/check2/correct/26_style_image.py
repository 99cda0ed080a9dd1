import torch
from torch import nn

features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, padding=1)).eval()
for p in features.parameters():
    p.requires_grad_(False)
content = torch.rand(1, 3, 32, 32)
with torch.no_grad():
    goal = features(content)
image = content.clone().requires_grad_(True)
opt = torch.optim.LBFGS([image])
count = [0]
while count[0] < 200:
    def closure():
        with torch.no_grad():
            image.clamp_(0, 1)
        opt.zero_grad()
        loss = nn.functional.mse_loss(features(image), goal)
        loss.backward()
        count[0] += 1
        return loss

    opt.step(closure)
