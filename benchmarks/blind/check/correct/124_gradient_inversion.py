import torch
import torch.nn.functional as F
from torch import nn

victim = nn.Sequential(nn.Linear(16, 24), nn.Sigmoid(), nn.Linear(24, 4))
x_true, y_true = torch.randn(1, 16), torch.tensor([2])
true = [g.detach() for g in torch.autograd.grad(F.cross_entropy(victim(x_true), y_true), victim.parameters())]
dummy, lab = torch.randn(1, 16, requires_grad=True), torch.randn(1, 4, requires_grad=True)
opt = torch.optim.LBFGS([dummy, lab])

for it in range(100):
    def closure():
        opt.zero_grad()
        pred = victim(dummy)
        loss = -(F.softmax(lab, -1) * F.log_softmax(pred, -1)).sum()
        grads = torch.autograd.grad(loss, victim.parameters(), create_graph=True)
        diff = sum(((a - b) ** 2).sum() for a, b in zip(grads, true))
        diff.backward(inputs=[dummy, lab])
        return diff
    opt.step(closure)
