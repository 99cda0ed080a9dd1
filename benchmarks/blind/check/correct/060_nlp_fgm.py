import torch
from torch import nn


class FGM:
    def __init__(self, model):
        self.model = model
        self.backup = {}

    def attack(self, epsilon=1.0, emb_name="emb"):
        for name, param in self.model.named_parameters():
            if param.requires_grad and emb_name in name:
                self.backup[name] = param.data.clone()
                norm = torch.norm(param.grad)
                if norm != 0 and not torch.isnan(norm):
                    param.data.add_(epsilon * param.grad / norm)

    def restore(self):
        for name, param in self.model.named_parameters():
            if name in self.backup:
                param.data = self.backup[name]
        self.backup = {}


class Clf(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(500, 16)
        self.fc = nn.Linear(16, 2)

    def forward(self, t):
        return self.fc(self.emb(t).mean(1))


model = Clf()
fgm = FGM(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
ce = nn.CrossEntropyLoss()
for tokens, label in [(torch.randint(0, 500, (8, 12)), torch.randint(0, 2, (8,))) for _ in range(20)]:
    loss = ce(model(tokens), label)
    loss.backward()
    fgm.attack()
    loss_adv = ce(model(tokens), label)
    loss_adv.backward()  # adds to the clean gradient, on purpose
    fgm.restore()
    optimizer.step()
    optimizer.zero_grad()
