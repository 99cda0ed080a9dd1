import math
import sys

import torch
from torch import nn

m_ = nn.Linear(10, 1)
p_ = torch.optim.SGD(m_.parameters(), lr=0.1)
bad = 0
for i in range(1000):
    x = torch.randn(4, 10)
    l_ = torch.log(m_(x).abs()).mean()
    if not math.isfinite(l_.item()):
        bad += 1
        if bad > 50:
            sys.exit("too many bad batches")
        continue
    l_.backward()
    p_.step()
    p_.zero_grad()
