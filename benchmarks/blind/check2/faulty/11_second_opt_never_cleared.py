import torch
from torch import nn


class Tower:
    def __init__(self):
        self.emb = nn.Embedding(100, 16)
        self.mlp = nn.Linear(16, 1)
        self.emb_opt = torch.optim.Adagrad(self.emb.parameters(), lr=0.1)
        self.mlp_opt = torch.optim.Adam(self.mlp.parameters(), lr=1e-3)

    def fit(self, n):
        for _ in range(n):
            ids = torch.randint(0, 100, (32,))
            self.mlp_opt.zero_grad()
            loss = nn.functional.mse_loss(self.mlp(self.emb(ids)).squeeze(-1), torch.rand(32))
            loss.backward()
            self.mlp_opt.step()
            self.emb_opt.step()  # FAULT: ZG006


Tower().fit(100)
