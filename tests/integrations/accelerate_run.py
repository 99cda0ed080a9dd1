"""Accelerate with the tracker and TensorBoard: right, and without a clear."""

import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

from zerograd.integrations.accelerate import ZerogradTracker


def train(folder: str, *, clears: bool) -> None:
    tracker = ZerogradTracker(folder)
    accelerator = Accelerator(
        cpu=True, gradient_accumulation_steps=2, log_with=["tensorboard", tracker], project_dir=folder
    )
    accelerator.init_trackers("run", config={"lr": 0.1})
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = DataLoader(TensorDataset(torch.randn(24, 4), torch.randn(24, 1)), batch_size=2)
    model, optimizer, data = accelerator.prepare(model, optimizer, data)
    for number, (x, y) in enumerate(data):
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            if clears:
                optimizer.zero_grad()
        accelerator.log({"loss": loss.item()} | tracker.numbers(), step=number)
    accelerator.end_training()


if __name__ == "__main__":
    train(f"{sys.argv[1]}/right", clears=True)
    train(f"{sys.argv[1]}/wrong", clears=False)
