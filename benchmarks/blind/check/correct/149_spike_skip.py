import collections
import statistics

import torch
from torch import nn

thing = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16))
o1 = torch.optim.AdamW(thing.parameters())
window = collections.deque(maxlen=50)
accum = 2

for step in range(300):
    o1.zero_grad(set_to_none=True)
    for _ in range(accum):
        x = torch.randn(4, 16)
        (nn.functional.mse_loss(thing(x), x) / accum).backward()
    norm = nn.utils.clip_grad_norm_(thing.parameters(), 1.0).item()
    if len(window) > 20 and norm > 5 * statistics.median(window):
        print("spike at", step)
        continue
    window.append(norm)
    o1.step()
