import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def go(alpha, rows, k):
    beta = torch.optim.AdamW(alpha.parameters(), lr=1e-3)
    for outer in range(0, len(rows) - k + 1, k):
        for m in range(k):
            alpha.require_backward_grad_sync = m == k - 1
            u, v = rows[outer + m]
            z = nn.functional.mse_loss(alpha(u), v) / k
            z.backward()
        nn.utils.clip_grad_norm_(alpha.parameters(), 1.0)
        beta.step()
        beta.zero_grad(set_to_none=True)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    thing = DistributedDataParallel(nn.Linear(8, 8))
    go(thing, [(torch.randn(2, 8), torch.randn(2, 8)) for _ in range(32)], 4)
