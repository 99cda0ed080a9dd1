import torch


def U(q):
    return (q[0] ** 2 / 2 + (q[1] - q[0] ** 2) ** 2).sum()


def grad_U(q):
    q = q.detach().requires_grad_(True)
    return torch.autograd.grad(U(q), q)[0]


def leap(q, p, eps, n):
    p = p - eps / 2 * grad_U(q)
    for i in range(n):
        q = q + eps * p
        if i < n - 1:
            p = p - eps * grad_U(q)
    p = p - eps / 2 * grad_U(q)
    return q, -p


chain, q = [], torch.zeros(2)
for _ in range(500):
    p = torch.randn(2)
    q2, p2 = leap(q, p, 0.1, 15)
    dh = U(q) + p.pow(2).sum() / 2 - U(q2) - p2.pow(2).sum() / 2
    if torch.rand(()).log() < dh:
        q = q2
    chain.append(q)
print(torch.stack(chain).mean(0))
