import torch
from torch import nn

model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 16)).cuda()
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
static_x, static_y = torch.randn(32, 256, device="cuda"), torch.randn(32, 16, device="cuda")

s = torch.cuda.Stream()
s.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(s):
    for i in range(3):
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(static_x), static_y).backward()
        optimizer.step()
torch.cuda.current_stream().wait_stream(s)

g = torch.cuda.CUDAGraph()
optimizer.zero_grad(set_to_none=True)
with torch.cuda.graph(g):
    static_loss = loss_fn(model(static_x), static_y)
    static_loss.backward()
    optimizer.step()

for x, y in [(torch.rand_like(static_x), torch.rand_like(static_y)) for _ in range(10)]:
    static_x.copy_(x)
    static_y.copy_(y)
    g.replay()
