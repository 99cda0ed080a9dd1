import torch
from torch import nn


class Loop:
    def __init__(self, cfg, net, source):
        self.cfg, self.net, self.source = cfg, net, iter(source)
        self.opt = torch.optim.AdamW(net.parameters(), lr=cfg.optim.lr, betas=cfg.optim.betas)
        self.scaler = torch.amp.GradScaler("cuda", enabled=cfg.amp)
        self.hooks = []

    def on(self, fn):
        self.hooks.append(fn)
        return fn

    def micro(self):
        x, y = next(self.source)
        with torch.autocast("cuda", enabled=self.cfg.amp):
            loss = nn.functional.cross_entropy(self.net(x), y)
        self.scaler.scale(loss / self.cfg.micro).backward()
        return loss.detach()

    def run(self):
        for step in range(self.cfg.steps):
            loss = sum(self.micro() for _ in range(self.cfg.micro)) / self.cfg.micro
            self.scaler.unscale_(self.opt)
            norm = nn.utils.clip_grad_norm_(self.net.parameters(), self.cfg.optim.clip)
            self.scaler.step(self.opt)
            self.scaler.update()
            self.opt.zero_grad(set_to_none=True)
            for h in self.hooks:
                h(step, loss.item(), norm.item())
