import torch
from torch import nn
import torch.multiprocessing as mp


def push_gradients(local, shared):
    for lp, sp in zip(local.parameters(), shared.parameters()):
        sp._grad = lp.grad


def worker(rank, shared, lock):
    torch.manual_seed(rank)
    local = nn.Linear(4, 2)
    opt = torch.optim.SGD(shared.parameters(), lr=0.01)
    for _ in range(100):
        local.load_state_dict(shared.state_dict())
        loss = local(torch.randn(8, 4)).logsumexp(-1).mean()
        local.zero_grad()
        loss.backward()
        with lock:
            opt.zero_grad()
            push_gradients(local, shared)
            opt.step()


if __name__ == "__main__":
    shared = nn.Linear(4, 2)
    shared.share_memory()
    lock = mp.Lock()
    procs = [mp.Process(target=worker, args=(r, shared, lock)) for r in range(4)]
    for p in procs:
        p.start()
    for p in procs:
        p.join()
