import torch
from torch import nn
from hooks import ClearHook, ClipHook, LrHook
from loop import Trainer


def main():
    model = nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    loader = [(torch.randn(8, 1, 28, 28), torch.randint(0, 10, (8,))) for _ in range(10)]
    Trainer(model, optimizer, nn.CrossEntropyLoss(), [ClearHook(), ClipHook(5.0), LrHook(scheduler)]).fit(loader, 10)


if __name__ == "__main__":
    main()
