import torch
from torch import nn

big = nn.Linear(4096, 4096).cuda()
o = torch.optim.SGD(big.parameters(), 0.01)
for n in range(100):
    x = torch.randn(512 * (1 + n % 5), 4096, device="cuda")
    try:
        big(x).pow(2).mean().backward()
        nn.functional.mse_loss(big(x * 2), x).backward()
    except RuntimeError as e:
        if "out of memory" in str(e):
            torch.cuda.empty_cache()
            continue
        raise
    o.step()  # FAULT: ZG007
    o.zero_grad()
