import os
import torch
from torch import nn


def groups(model, wd):
    decay, plain = [], []
    for name, p in model.named_parameters():
        if p.requires_grad:
            (plain if p.ndim < 2 else decay).append(p)
    return [{"params": decay, "weight_decay": wd}, {"params": plain, "weight_decay": 0.0}]


def trainable(model):
    return (p for p in model.parameters() if p.requires_grad)


def main(path="ckpt.pt"):
    model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 1))
    opt = torch.optim.AdamW(groups(model, 0.01), lr=1e-3)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, total_steps=500)
    start = 0
    if os.path.exists(path):
        blob = torch.load(path)
        model.load_state_dict(blob["model"])
        opt.load_state_dict(blob["opt"])
        sched.load_state_dict(blob["sched"])
        start = blob["step"]
    for step in range(start, 500):
        x = torch.randn(16, 4)
        loss = (model(x) - x.sum(-1, keepdim=True)).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(trainable(model), 1.0)
        opt.step()
        sched.step()
        for p in trainable(model):
            p.grad = None
        if step % 100 == 99:
            torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict(), "step": step + 1}, path)


main()
