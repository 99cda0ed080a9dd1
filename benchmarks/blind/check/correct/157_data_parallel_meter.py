import time

import torch
from torch import nn


class AverageMeter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.sum = self.count = 0.0

    def update(self, v, n=1):
        self.sum += v * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def adjust_learning_rate(kick, epoch, lr):
    lr = lr * (0.1 ** (epoch // 30))
    for g in kick.param_groups:
        g["lr"] = lr


def work(heap, zed, score, kick, epoch):
    losses, batch_time = AverageMeter(), AverageMeter()
    zed.train()
    end = time.time()
    for i, (images, b9) in enumerate(heap):
        c9 = zed(images)
        e1 = score(c9, b9)
        losses.update(e1.item(), images.size(0))
        kick.zero_grad()
        e1.backward()
        kick.step()
        batch_time.update(time.time() - end)
        end = time.time()
    print(epoch, losses.avg, batch_time.avg)


zed = nn.DataParallel(nn.Linear(32, 8))
kick = torch.optim.SGD(zed.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
heap = [(torch.randn(16, 32), torch.randint(0, 8, (16,))) for _ in range(20)]
for epoch in range(90):
    adjust_learning_rate(kick, epoch, 0.1)
    work(heap, zed, nn.CrossEntropyLoss(), kick, epoch)
