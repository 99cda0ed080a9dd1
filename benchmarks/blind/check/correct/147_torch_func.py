import torch
from torch import nn
from torch.func import functional_call, grad_and_value, vmap

model = nn.Linear(5, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def loss_of(params, x, y):
    return nn.functional.cross_entropy(functional_call(model, params, (x[None],)), y[None])


per_sample = vmap(grad_and_value(loss_of), in_dims=(None, 0, 0), randomness="same")
for _ in range(50):
    x, y = torch.randn(32, 5), torch.randint(0, 3, (32,))
    params = {k: v.detach() for k, v in model.named_parameters()}
    grads, losses = per_sample(params, x, y)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
    w = (1.0 / norms.clamp(min=1.0)) / len(x)
    for k, p in model.named_parameters():
        p.grad = torch.einsum("b,b...->...", w, grads[k])
    optimizer.step()
