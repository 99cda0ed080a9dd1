import torch
import torch.nn.functional as F


def fit_image(target, n=50):
    img = torch.rand_like(target).requires_grad_(True)
    kit = torch.optim.LBFGS([img], max_iter=8)
    kernel = torch.ones(3, 3, 5, 5) / 75
    for _ in range(n):
        kit.zero_grad()

        def f():
            e = F.mse_loss(F.conv2d(img, kernel), target[:, :, 2:-2, 2:-2])
            e.backward()
            return e

        kit.step(f)  # FAULT: ZG009
    return img.detach()


fit_image(torch.rand(1, 3, 32, 32))
