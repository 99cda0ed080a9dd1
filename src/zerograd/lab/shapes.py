"""Real work: drawings of four shapes, and a convnet that learns to tell them apart and how large they are."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

SIDE = 16
KINDS = ("disc", "square", "cross", "ring")
GUESS = 1.386  # log 4: the loss of someone who has learned nothing
Batch = tuple[Tensor, Tensor]


def drawn(n: int, *, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """`n` noisy drawings anywhere in the frame and of any size; which shape each is; its radius in pixels."""
    generator = torch.Generator().manual_seed(seed)
    kinds = torch.randint(len(KINDS), (n,), generator=generator)
    centre = 6 + torch.rand(n, 2, 1, 1, generator=generator) * (SIDE - 12)
    radius = 3 + torch.rand(n, 1, 1, generator=generator) * 2
    axis = torch.arange(SIDE, dtype=torch.float32)
    y = (axis.view(1, -1, 1) - centre[:, 0]).abs()
    x = (axis.view(1, 1, -1) - centre[:, 1]).abs()
    away = (x**2 + y**2).sqrt()
    every = torch.stack(
        [
            away <= radius,
            torch.maximum(x, y) <= radius,
            (torch.minimum(x, y) <= 0.7) & (torch.maximum(x, y) <= radius),
            (away - radius).abs() <= 0.8,
        ]
    )
    images = every[kinds, torch.arange(n)].float()
    images += 0.2 * torch.randn(images.shape, generator=generator)
    return images.unsqueeze(1), kinds, radius.flatten()


class ShapeNet(nn.Module):
    """Two convolutions and two heads: the kind of a shape, and its size."""

    def __init__(self, *, norm: bool = False, dropout: float = 0.0) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1),
            nn.BatchNorm2d(8) if norm else nn.Identity(),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Dropout(dropout) if dropout else nn.Identity(),
        )
        self.kind = nn.Linear(16 * 16, len(KINDS))
        self.size = nn.Linear(16 * 16, 1)

    def forward(self, x: Tensor) -> Tensor:
        """What kind of shape: four logits."""
        logits: Tensor = self.kind(self.body(x))
        return logits

    def sizes(self, x: Tensor) -> Tensor:
        """The radius, in pixels."""
        radius: Tensor = self.size(self.body(x))
        return 4 + radius.squeeze(1)


def shape_net(*, seed: int = 0, norm: bool = False, dropout: float = 0.0, double: bool = False) -> ShapeNet:
    torch.manual_seed(seed)
    model = ShapeNet(norm=norm, dropout=dropout)
    return model.double() if double else model


def shape_batches(steps: int, *, batch: int = 32, seed: int = 0, double: bool = False) -> list[Batch]:
    """Enough batches for so many updates, of drawings and their kinds."""
    images, kinds, _ = drawn(1024, seed=seed)
    images = images.double() if double else images
    order = torch.Generator().manual_seed(seed + 1)
    return [
        (images[rows], kinds[rows]) for rows in (torch.randint(1024, (batch,), generator=order) for _ in range(steps))
    ]


def accuracy(model: nn.Module, *, seed: int = 9) -> float:
    """The share of 512 new drawings that are told apart."""
    images, kinds, _ = drawn(512, seed=seed)
    with torch.no_grad():
        right = model(images.to(next(model.parameters()).dtype)).argmax(1) == kinds
    return float(right.float().mean())


Make = Callable[[Any], torch.optim.Optimizer]


def shapes_scene(
    *, steps: int, make: Make | None = None, seed: int = 0, batch: int = 32, double: bool = False, spare: bool = True
) -> dict[str, Any]:
    """A plain supervised loop's blanks: model, optimizer, batches, loss_fn, and `losses` to fill.

    spare: the model has its size head, which takes no part in the loss.
    """
    model = shape_net(seed=seed, double=double)
    if not spare:
        del model.size
    optimizer = make(model.parameters()) if make else torch.optim.SGD(model.parameters(), lr=0.05)
    return {
        "model": model,
        "optimizer": optimizer,
        "batches": shape_batches(steps, seed=seed, batch=batch, double=double),
        "loss_fn": nn.functional.cross_entropy,
        "losses": [],
    }
