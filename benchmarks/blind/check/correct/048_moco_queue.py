import torch
import torch.nn.functional as F
from torch import nn

q_enc, k_enc = nn.Linear(20, 8), nn.Linear(20, 8)
k_enc.load_state_dict(q_enc.state_dict())
k_enc.requires_grad_(False)
queue = F.normalize(torch.randn(8, 256), dim=0)
ptr = 0
mover = torch.optim.SGD(q_enc.parameters(), 0.03, momentum=0.9)

for it in range(100):
    x = torch.randn(16, 20)
    q = F.normalize(q_enc(x + 0.01 * torch.randn_like(x)), dim=1)
    with torch.no_grad():
        for pq, pk in zip(q_enc.parameters(), k_enc.parameters()):
            pk.data.mul_(0.999).add_(pq.data, alpha=0.001)
        k = F.normalize(k_enc(x), dim=1)
    pos = (q * k).sum(1, keepdim=True)
    neg = q @ queue.clone().detach()
    logits = torch.cat([pos, neg], 1) / 0.07
    dist0 = F.cross_entropy(logits, torch.zeros(16, dtype=torch.long))
    mover.zero_grad()
    dist0.backward()
    mover.step()
    queue[:, ptr:ptr + 16] = k.T
    ptr = (ptr + 16) % 256
