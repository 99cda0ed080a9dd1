"""Real work: a ring of four Gaussians in the plane, and a GAN that learns to draw from it."""

import math
from typing import Any

import torch
from torch import Tensor, nn

MODES = 4
SPREAD = 0.15


def centres() -> Tensor:
    angles = torch.arange(MODES) * (2 * math.pi / MODES)
    return torch.stack([angles.cos(), angles.sin()], 1)


def ring(n: int, generator: torch.Generator) -> Tensor:
    which = torch.randint(MODES, (n,), generator=generator)
    return centres()[which] + SPREAD * torch.randn(n, 2, generator=generator)


class Gan(nn.Module):
    """A generator G from noise to the plane, a discriminator D of points."""

    def __init__(self) -> None:
        super().__init__()
        self.G = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
        self.D = nn.Sequential(
            nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
        )


def gan_scene(*, steps: int, seed: int = 0) -> dict[str, Any]:
    """The blanks of a GAN's loop: G, D, real batches and the noise for each."""
    torch.manual_seed(seed)
    model = Gan()
    generator = torch.Generator().manual_seed(seed)
    return {
        "model": model,
        "G": model.G,
        "D": model.D,
        "batches": [(ring(64, generator), torch.randn(64, 2, generator=generator)) for _ in range(steps)],
    }


def quality(model: Gan, *, seed: int = 5) -> tuple[int, float, list[list[float]]]:
    """How many of the modes it draws, the share of its points that lie in one, and some of the points."""
    with torch.no_grad():
        points = model.G(torch.randn(800, 2, generator=torch.Generator().manual_seed(seed)))
    away, nearest = torch.cdist(points, centres()).min(1)
    inside = away < 4 * SPREAD
    counts = torch.bincount(nearest[inside], minlength=MODES)
    shown = [[round(float(x), 3), round(float(y), 3)] for x, y in points[:150]]
    return int((counts >= 16).sum()), float(inside.float().mean()), shown
