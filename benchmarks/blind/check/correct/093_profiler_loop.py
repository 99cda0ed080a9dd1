import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule

box = nn.Sequential(nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
box(torch.zeros(1, 3, 16, 16))
mover = torch.optim.SGD(box.parameters(), lr=0.01)
lossf = nn.CrossEntropyLoss()

with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=3)) as prof:
    for step in range(10):
        x, y = torch.randn(8, 3, 16, 16), torch.randint(0, 10, (8,))
        with record_function("forward"):
            dist0 = lossf(box(x), y)
        with record_function("backward"):
            mover.zero_grad()
            dist0.backward()
        with record_function("optimizer"):
            mover.step()
        prof.step()
print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=10))
