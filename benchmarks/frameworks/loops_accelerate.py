"""Accelerate as people use it: windows by hand, two optimizers, clearing first. Nothing here is wrong."""

import torch
from accelerate import Accelerator
from torch.nn.functional import mse_loss
from torch.utils.data import DataLoader, TensorDataset


def prepared(window: int):
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=window)
    first, second = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
    adam = torch.optim.AdamW(first.parameters())
    sgd = torch.optim.SGD(second.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(torch.randn(60, 4), torch.randn(60, 1)), batch_size=4)
    return accelerator, *accelerator.prepare(first, second, adam, sgd, loader)


def one_model(window: int) -> None:
    accelerator, model, _, optimizer, _, loader = prepared(window)
    for _ in range(3):
        for x, y in loader:
            with accelerator.accumulate(model):
                accelerator.backward(mse_loss(model(x), y))
                if accelerator.sync_gradients:
                    accelerator.clip_grad_value_(model.parameters(), 0.5)
                optimizer.step()
                optimizer.zero_grad()


def by_hand(window: int) -> None:
    accelerator, model, _, optimizer, _, loader = prepared(1)
    for _ in range(3):
        for number, (x, y) in enumerate(loader, 1):
            accelerator.backward(mse_loss(model(x), y) / window)
            if number % window == 0:
                optimizer.step()
                optimizer.zero_grad()


def two_models(window: int, *, clear_first: bool) -> None:
    accelerator, first, second, adam, sgd, loader = prepared(window)
    for _ in range(3):
        for x, y in loader:
            with accelerator.accumulate(first, second):
                if clear_first:
                    adam.zero_grad()
                    sgd.zero_grad()
                accelerator.backward(mse_loss(first(x), y) + mse_loss(second(x), y))
                adam.step()
                sgd.step()
                if not clear_first:
                    adam.zero_grad()
                    sgd.zero_grad()


if __name__ == "__main__":
    one_model(1)
    one_model(4)
    by_hand(4)
    two_models(4, clear_first=False)
    two_models(1, clear_first=True)  # with a window this is a fault: zero_grad() acts on its last micro-batch alone
