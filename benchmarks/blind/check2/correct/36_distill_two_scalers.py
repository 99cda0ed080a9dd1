import torch
from torch import nn
from torch.cuda.amp import GradScaler, autocast

teacher = nn.Linear(10, 5).cuda().eval()
student = nn.Linear(10, 5).cuda()
adapter = nn.Linear(5, 5).cuda()
opt_s = torch.optim.SGD(student.parameters(), lr=0.1)
opt_a = torch.optim.SGD(adapter.parameters(), lr=0.01)
scaler = GradScaler()
for it in range(200):
    x = torch.randn(32, 10, device="cuda")
    with torch.no_grad(), autocast():
        soft = teacher(x).softmax(-1)
    with autocast():
        loss = nn.functional.kl_div(adapter(student(x)).log_softmax(-1), soft, reduction="batchmean")
    for o in (opt_s, opt_a):
        o.zero_grad()
    scaler.scale(loss).backward()
    for o, m in ((opt_s, student), (opt_a, adapter)):
        scaler.unscale_(o)
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        scaler.step(o)
    scaler.update()
