"""ignite: windows that straddle epochs, handlers, evaluation in between, and a GAN. Nothing here is wrong."""

import torch
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import EMAHandler, LRScheduler, TerminateOnNan
from ignite.metrics import Loss
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(56, 4), torch.randn(56, 1)), batch_size=8)


def supervised() -> None:
    model, loss = torch.nn.Linear(4, 1), torch.nn.functional.mse_loss
    optimizer = torch.optim.AdamW(model.parameters())
    trainer = create_supervised_trainer(model, optimizer, loss, gradient_accumulation_steps=4)
    evaluator = create_supervised_evaluator(model, {"loss": Loss(loss)})
    schedule = LRScheduler(torch.optim.lr_scheduler.StepLR(optimizer, 3))
    trainer.add_event_handler(Events.ITERATION_COMPLETED, schedule)
    trainer.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())
    trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda engine: evaluator.run(loader))
    EMAHandler(model).attach(trainer)
    trainer.run(loader, max_epochs=4)


def gan() -> None:
    maker, critic = torch.nn.Linear(4, 1), torch.nn.Linear(1, 1)
    makes, judges = torch.optim.Adam(maker.parameters()), torch.optim.Adam(critic.parameters())

    def update(engine: Engine, batch: list[torch.Tensor]) -> None:
        x, y = batch
        judges.zero_grad()
        (critic(maker(x).detach()).mean() - critic(y).mean()).backward()
        judges.step()
        makes.zero_grad()
        (-critic(maker(x)).mean()).backward()  # spills into the critic, which clears it before it uses it
        makes.step()

    Engine(update).run(loader, max_epochs=3)


if __name__ == "__main__":
    supervised()
    gan()
