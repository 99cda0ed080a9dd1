import torch
from torch import nn


class GradCAM:
    def __init__(self, model, layer):
        self.model = model
        self.acts = self.grads = None
        layer.register_forward_hook(self._fwd)
        layer.register_full_backward_hook(self._bwd)

    def _fwd(self, m, i, o):
        self.acts = o.detach()

    def _bwd(self, m, gi, go):
        self.grads = go[0].detach()

    def __call__(self, x, k):
        self.model.zero_grad()
        self.model(x)[:, k].sum().backward()
        w = self.grads.mean((2, 3), keepdim=True)
        return (w * self.acts).sum(1).relu()


net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)).eval()
cam = GradCAM(net, net[0])
for k in range(4):
    print(k, cam(torch.rand(1, 3, 32, 32), k).max().item())
