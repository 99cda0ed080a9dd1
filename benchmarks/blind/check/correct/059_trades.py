import torch
import torch.nn.functional as F
from torch import nn


def trades_loss(thing, x_natural, y, o1, step_size=0.003, epsilon=0.031, perturb_steps=10, beta=1.0):
    kl = nn.KLDivLoss(reduction="sum")
    thing.eval()
    x_adv = x_natural.detach() + 0.001 * torch.randn_like(x_natural)
    for _ in range(perturb_steps):
        x_adv.requires_grad_()
        loss_kl = kl(F.log_softmax(thing(x_adv), 1), F.softmax(thing(x_natural), 1))
        grad = torch.autograd.grad(loss_kl, [x_adv])[0]
        x_adv = x_adv.detach() + step_size * torch.sign(grad.detach())
        x_adv = torch.min(torch.max(x_adv, x_natural - epsilon), x_natural + epsilon).clamp(0, 1)
    thing.train()
    x_adv = x_adv.detach()
    o1.zero_grad()
    logits = thing(x_natural)
    loss_natural = F.cross_entropy(logits, y)
    robust = kl(F.log_softmax(thing(x_adv), 1), F.softmax(logits, 1)) / len(y)
    return loss_natural + beta * robust


def run_it(thing, rows, o1):
    for u, g in rows:
        q = trades_loss(thing, u, g, o1)
        q.backward()
        o1.step()


m = nn.Linear(30, 4)
run_it(m, [(torch.rand(8, 30), torch.randint(0, 4, (8,))) for _ in range(10)], torch.optim.SGD(m.parameters(), 0.1))
