"""A loop with Accelerate: accumulation, clipping, bfloat16, a schedule. The last one forgets zero_grad()."""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


def train(*, accumulate: int = 1, forgets: bool = False) -> None:
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=accumulate, mixed_precision="bf16")
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    loader = DataLoader(TensorDataset(torch.randn(56, 4), torch.randn(56, 1)), batch_size=8, shuffle=True)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    for _ in range(2):
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.mse_loss(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()  # error: [ZG001]
                schedule.step()
                if not forgets:
                    optimizer.zero_grad()


if __name__ == "__main__":
    train()
    train(accumulate=3)
    train(forgets=True)
