import torch
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn


class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.b, self.p, self.v = nn.Linear(4, 32), nn.Linear(32, 2), nn.Linear(32, 1)

    def forward(self, x):
        h = F.relu(self.b(x))
        return self.p(h), self.v(h)


def ensure_shared_grads(model, shared_model):
    for param, shared_param in zip(model.parameters(), shared_model.parameters()):
        shared_param._grad = param.grad.clone()


def worker(rank, shared_model, optimizer, steps=200):
    torch.manual_seed(rank)
    model = AC()
    for _ in range(steps):
        model.load_state_dict(shared_model.state_dict())
        s = torch.randn(20, 4)
        logits, v = model(s)
        d = torch.distributions.Categorical(logits=logits)
        a = d.sample()
        R = torch.randn(20)
        adv = R - v.squeeze(-1)
        loss = -(d.log_prob(a) * adv.detach()).mean() + 0.5 * adv.pow(2).mean() - 0.01 * d.entropy().mean()
        model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 40)
        ensure_shared_grads(model, shared_model)
        optimizer.step()


if __name__ == "__main__":
    shared = AC()
    shared.share_memory()
    opt = torch.optim.RMSprop(shared.parameters(), lr=1e-3)
    ps = [mp.Process(target=worker, args=(r, shared, opt)) for r in range(4)]
    [p.start() for p in ps]
    [p.join() for p in ps]
