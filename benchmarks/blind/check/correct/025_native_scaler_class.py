import torch
from torch import nn


class NativeScaler:
    state_dict_key = "amp_scaler"

    def __init__(self, device="cuda"):
        self._scaler = torch.amp.GradScaler(device=device)

    def __call__(self, loss, optimizer, clip_grad=None, parameters=None, create_graph=False, need_update=True):
        self._scaler.scale(loss).backward(create_graph=create_graph)
        if need_update:
            if clip_grad is not None:
                assert parameters is not None
                self._scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(parameters, clip_grad)
            self._scaler.step(optimizer)
            self._scaler.update()

    def state_dict(self):
        return self._scaler.state_dict()


def train_one_epoch(model, loader, optimizer, loss_scaler, accum_iter=2):
    optimizer.zero_grad()
    for it, (x, y) in enumerate(loader):
        with torch.autocast("cuda"):
            loss = nn.functional.cross_entropy(model(x), y)
        loss_value = loss.item()
        loss = loss / accum_iter
        update = (it + 1) % accum_iter == 0
        loss_scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters(), need_update=update)
        if update:
            optimizer.zero_grad()
        if it % 20 == 0:
            print(it, loss_value)


net = nn.Linear(10, 3).cuda()
opt = torch.optim.AdamW(net.parameters())
loader = [(torch.randn(4, 10).cuda(), torch.randint(0, 3, (4,)).cuda()) for _ in range(40)]
train_one_epoch(net, loader, opt, NativeScaler())
