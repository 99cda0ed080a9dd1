import torch

from sides import judge, kit, maker

G, C = maker(), judge()
og, oc = kit(G), kit(C)


def train_g(n):
    og.zero_grad()
    loss = -C(G(torch.randn(n, 6))).mean()
    loss.backward()
    og.step()


def train_c(real):
    loss = C(G(torch.randn(len(real), 6)).detach()).mean() - C(real).mean()
    loss.backward()
    oc.step()  # FAULT: ZG005
    oc.zero_grad()


for _ in range(100):
    train_g(16)
    train_c(torch.randn(16, 12))
