import torch
from torch import nn


class RNNModel(nn.Module):
    def __init__(self, ntoken, dim, layers):
        super().__init__()
        self.c1 = nn.Embedding(ntoken, dim)
        self.ri = nn.LSTM(dim, dim, layers)
        self.c2 = nn.Linear(dim, ntoken)
        self.dim, self.layers = dim, layers

    def forward(self, x, hidden):
        out, hidden = self.ri(self.c1(x), hidden)
        return self.c2(out).flatten(0, 1), hidden

    def init_hidden(self, bsz):
        w = next(self.parameters())
        return w.new_zeros(self.layers, bsz, self.dim), w.new_zeros(self.layers, bsz, self.dim)


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def get_batch(source, i, bptt):
    n = min(bptt, len(source) - 1 - i)
    return source[i:i + n], source[i + 1:i + 1 + n].view(-1)


def run_it(thing, u, lr, clip=0.25, bptt=35):
    thing.train()
    crit = nn.CrossEntropyLoss()
    hidden = thing.init_hidden(u.size(1))
    total = 0.0
    for i in range(0, u.size(0) - 1, bptt):
        x, y = get_batch(u, i, bptt)
        thing.zero_grad()
        hidden = repackage_hidden(hidden)
        r, hidden = thing(x, hidden)
        q = crit(r, y)
        q.backward()
        torch.nn.utils.clip_grad_norm_(thing.parameters(), clip)
        for p in thing.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total += q.item()
    return total


m = RNNModel(50, 20, 2)
for epoch in range(3):
    print(run_it(m, torch.randint(0, 50, (300, 8)), 20.0 / (epoch + 1)))
