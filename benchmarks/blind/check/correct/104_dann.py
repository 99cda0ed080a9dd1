import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function


class Reverse(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


feat, cls, dom = nn.Linear(30, 20), nn.Linear(20, 5), nn.Linear(20, 2)
opt = torch.optim.SGD([p for m in (feat, cls, dom) for p in m.parameters()], lr=0.01, momentum=0.9)
n = 200
for i in range(n):
    alpha = 2.0 / (1.0 + torch.exp(torch.tensor(-10.0 * i / n)).item()) - 1
    xs, ys, xt = torch.randn(16, 30), torch.randint(0, 5, (16,)), torch.randn(16, 30) + 1
    fs, ft = feat(xs).relu(), feat(xt).relu()
    err_s_label = F.cross_entropy(cls(fs), ys)
    err_s_domain = F.cross_entropy(dom(Reverse.apply(fs, alpha)), torch.zeros(16, dtype=torch.long))
    err_t_domain = F.cross_entropy(dom(Reverse.apply(ft, alpha)), torch.ones(16, dtype=torch.long))
    err = err_t_domain + err_s_domain + err_s_label
    opt.zero_grad()
    err.backward()
    opt.step()
