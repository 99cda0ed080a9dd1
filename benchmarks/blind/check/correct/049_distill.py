import torch
import torch.nn as nn
import torch.nn.functional as F


def kd_loss(student_logits, teacher_logits, labels, T=4.0, alpha=0.9):
    soft = F.kl_div(F.log_softmax(student_logits / T, 1), F.softmax(teacher_logits / T, 1), reduction="batchmean")
    return alpha * T * T * soft + (1 - alpha) * F.cross_entropy(student_logits, labels)


b2 = nn.Sequential(nn.Linear(50, 200), nn.ReLU(), nn.Linear(200, 10))
b1 = nn.Sequential(nn.Linear(50, 20), nn.ReLU(), nn.Linear(20, 10))


def pretrain(thing, rows):
    o1 = torch.optim.Adam(thing.parameters())
    for x, y in rows:
        o1.zero_grad(set_to_none=True)
        F.cross_entropy(thing(x), y).backward()
        o1.step()
    return thing.eval()


def distill(b2, b1, rows):
    o1 = torch.optim.SGD(b1.parameters(), lr=0.05)
    for x, y in rows:
        with torch.no_grad():
            t = b2(x)
        q = kd_loss(b1(x), t, y)
        o1.zero_grad(set_to_none=True)
        q.backward()
        o1.step()


rows = [(torch.randn(32, 50), torch.randint(0, 10, (32,))) for _ in range(50)]
distill(pretrain(b2, rows), b1, rows)
