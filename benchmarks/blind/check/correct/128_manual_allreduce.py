import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


def average_gradients(thing):
    size = float(dist.get_world_size())
    for param in thing.parameters():
        dist.all_reduce(param.grad.data, op=dist.ReduceOp.SUM)
        param.grad.data /= size


def run(rank, size):
    torch.manual_seed(1234)
    thing = nn.Sequential(nn.Linear(784, 50), nn.ReLU(), nn.Linear(50, 10))
    o1 = torch.optim.SGD(thing.parameters(), lr=0.01, momentum=0.5)
    train_set = [(torch.randn(128 // size, 784), torch.randint(0, 10, (128 // size,))) for _ in range(20)]
    for epoch in range(10):
        epoch_loss = 0.0
        for u, g in train_set:
            o1.zero_grad()
            q = F.cross_entropy(thing(u), g)
            epoch_loss += q.item()
            q.backward()
            average_gradients(thing)
            o1.step()
        print("Rank", rank, "epoch", epoch, epoch_loss / len(train_set))


if __name__ == "__main__":
    dist.init_process_group("gloo")
    run(dist.get_rank(), dist.get_world_size())
