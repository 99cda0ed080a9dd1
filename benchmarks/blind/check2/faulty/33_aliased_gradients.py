import torch
from torch import nn


def hand_over(worker, master):
    for w, m in zip(worker.parameters(), master.parameters()):
        m.grad = w.grad  # FAULT: ZG305


def main():
    master = nn.Linear(4, 2)
    worker = nn.Linear(4, 2)
    opt = torch.optim.RMSprop(master.parameters(), lr=1e-3)
    for _ in range(100):
        worker.load_state_dict(master.state_dict())
        loss = worker(torch.randn(8, 4)).logsumexp(-1).mean()
        opt.zero_grad()
        loss.backward()
        hand_over(worker, master)
        opt.step()


main()
