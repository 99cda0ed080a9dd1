import torch
from torch import nn

e1, e2 = nn.Linear(20, 20).cuda(), nn.Linear(20, 5).cuda()
s1 = torch.optim.Adam(e1.parameters(), lr=1e-3)
s2 = torch.optim.SGD(e2.parameters(), lr=1e-2)
q = torch.amp.GradScaler("cuda", growth_interval=500)

for _ in range(300):
    f = torch.randn(32, 20, device="cuda")
    t = torch.randint(0, 5, (32,), device="cuda")
    s1.zero_grad()
    s2.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        z = e1(f)
        l0 = nn.functional.cross_entropy(e2(z), t)
        l1 = z.float().pow(2).mean()
    q.scale(l0).backward(retain_graph=True)
    q.scale(0.01 * l1).backward()
    q.unscale_(s1)
    nn.utils.clip_grad_norm_(e1.parameters(), 1.0)
    q.step(s1)
    q.step(s2)
    q.update()
