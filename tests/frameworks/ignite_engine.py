"""ignite: a supervised trainer with accumulation, and an update function that clips. The last one never clears."""

import torch
from ignite.engine import Engine, create_supervised_trainer
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(56, 4), torch.randn(56, 1)), batch_size=8)


def build():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    return model, torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)


def supervised(accumulate: int) -> None:
    model, optimizer = build()
    loss = torch.nn.functional.mse_loss
    trainer = create_supervised_trainer(model, optimizer, loss, gradient_accumulation_steps=accumulate)
    trainer.run(loader, max_epochs=3)


def own(*, forgets: bool = False) -> None:
    model, optimizer = build()

    def update(engine: Engine, batch: list[torch.Tensor]) -> float:
        model.train()
        if not forgets:
            optimizer.zero_grad()
        x, y = batch
        with torch.autocast("cpu", torch.bfloat16):
            loss = torch.nn.functional.mse_loss(model(x).float(), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()  # error: [ZG001]
        return loss.item()

    Engine(update).run(loader, max_epochs=2)


if __name__ == "__main__":
    supervised(1)
    supervised(3)
    own()
    own(forgets=True)
