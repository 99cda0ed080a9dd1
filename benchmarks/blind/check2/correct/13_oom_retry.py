import torch
from torch import nn


def try_batch(model, opt, x, y):
    try:
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
    except RuntimeError as err:
        if "out of memory" not in str(err):
            raise
        opt.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()
        return False
    opt.step()
    opt.zero_grad(set_to_none=True)
    return True


def main():
    model = nn.Linear(12, 1)
    opt = torch.optim.Adam(model.parameters())
    skipped = 0
    for _ in range(100):
        if not try_batch(model, opt, torch.randn(32, 12), torch.randn(32, 1)):
            skipped += 1
    print(skipped)


main()
