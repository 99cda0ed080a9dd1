import torch

log_lam = torch.tensor(-3.0, requires_grad=True)
outer = torch.optim.Adam([log_lam], lr=0.05)
Xt, yt, Xv, yv = torch.randn(50, 10), torch.randn(50), torch.randn(50, 10), torch.randn(50)

for k in range(60):
    w = torch.zeros(10, requires_grad=True)
    for _ in range(20):
        inner = (Xt @ w - yt).pow(2).mean() + log_lam.exp() * w.pow(2).sum()
        (gw,) = torch.autograd.grad(inner, w, create_graph=True)
        w = w - 0.05 * gw
    outer.zero_grad()
    (Xv @ w - yv).pow(2).mean().backward()
    outer.step()
print(log_lam.exp().item())
