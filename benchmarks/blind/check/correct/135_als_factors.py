import torch

R = torch.rand(50, 40)
u, v = torch.rand(50, 6, requires_grad=True), torch.rand(40, 6, requires_grad=True)
ou, ov = torch.optim.Adagrad([u], lr=0.1), torch.optim.Adagrad([v], lr=0.1)


def err(a, b):
    return (R - a @ b.T).pow(2).mean()


for t in range(50):
    for _ in range(5):
        ou.zero_grad()
        err(u, v.detach()).backward()
        ou.step()
    for _ in range(5):
        ov.zero_grad()
        err(u.detach(), v).backward()
        ov.step()
