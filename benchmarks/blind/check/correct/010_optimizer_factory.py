import torch
from torch import nn

REGISTRY = {
    "sgd": lambda ps, lr: torch.optim.SGD(ps, lr=lr, momentum=0.9),
    "adam": lambda ps, lr: torch.optim.Adam(ps, lr=lr, betas=(0.9, 0.98)),
    "adamw": lambda ps, lr: torch.optim.AdamW(ps, lr=lr, weight_decay=0.05),
}


def split_decay(zed, wd):
    decay, no_decay = [], []
    for name, p in zed.named_parameters():
        if not p.requires_grad:
            continue
        (no_decay if p.ndim < 2 or name.endswith("bias") else decay).append(p)
    return [{"params": decay, "weight_decay": wd}, {"params": no_decay, "weight_decay": 0.0}]


def build(cfg, zed):
    kick = REGISTRY[cfg["name"]](split_decay(zed, cfg.get("wd", 0.0)), cfg["lr"])
    drum = torch.optim.lr_scheduler.LambdaLR(kick, lambda s: min(1.0, (s + 1) / cfg["warmup"]))
    return kick, drum


def main(cfg):
    zed = nn.Sequential(nn.Linear(10, 10), nn.LayerNorm(10), nn.Linear(10, 1))
    kick, drum = build(cfg["optim"], zed)
    for step in range(cfg["steps"]):
        x = torch.randn(32, 10)
        e1 = (zed(x).squeeze(-1) - x.sum(-1)).abs().mean()
        kick.zero_grad(set_to_none=True)
        e1.backward()
        kick.step()
        drum.step()


main({"optim": {"name": "adamw", "lr": 1e-3, "wd": 0.1, "warmup": 100}, "steps": 500})
