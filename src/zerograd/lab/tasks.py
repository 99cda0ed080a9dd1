"""Real work for the experiments: shapes that are drawn here, and small networks that learn to tell them apart."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

SIDE = 16
SHAPES = ("disc", "square", "cross", "ring")
Batch = tuple[Tensor, Tensor]


class Task(NamedTuple):
    model: nn.Module
    batches: list[Batch]
    loss_fn: Callable[[Tensor, Tensor], Tensor]


def shapes(n: int, *, seed: int) -> Batch:
    """`n` noisy drawings of four shapes, anywhere in the frame and of any size."""
    generator = torch.Generator().manual_seed(seed)
    kinds = torch.randint(len(SHAPES), (n,), generator=generator)
    centre = 6 + torch.rand(n, 2, 1, 1, generator=generator) * (SIDE - 12)
    radius = 3 + torch.rand(n, 1, 1, generator=generator) * 2
    axis = torch.arange(SIDE, dtype=torch.float32)
    y = (axis.view(1, -1, 1) - centre[:, 0]).abs()
    x = (axis.view(1, 1, -1) - centre[:, 1]).abs()
    away = (x**2 + y**2).sqrt()
    drawn = torch.stack(
        [
            away <= radius,
            torch.maximum(x, y) <= radius,
            (torch.minimum(x, y) <= 0.7) & (torch.maximum(x, y) <= radius),
            (away - radius).abs() <= 0.8,
        ]
    )
    images = drawn[kinds, torch.arange(n)].float()
    images += 0.2 * torch.randn(images.shape, generator=generator)
    return images.unsqueeze(1), kinds


def classifier(*, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 16, len(SHAPES)),
    )


def telling_shapes_apart(*, steps: int = 120, batch: int = 32, seed: int = 0) -> Task:
    """A convnet and enough batches for `steps` updates."""
    images, kinds = shapes(1024, seed=seed)
    order = torch.Generator().manual_seed(seed + 1)
    batches = [(images[i], kinds[i]) for i in _indices(len(kinds), batch, steps, order)]
    return Task(classifier(seed=seed), batches, nn.functional.cross_entropy)


def _indices(n: int, batch: int, steps: int, generator: torch.Generator) -> Iterator[Tensor]:
    for _ in range(steps):
        yield torch.randint(n, (batch,), generator=generator)


def weights(model: nn.Module) -> Tensor:
    """All weights as one vector, to be compared bit for bit."""
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
