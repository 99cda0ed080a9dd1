"""Real work in which a part of the model gets no gradient for a while: the size head, fed every third batch."""

from typing import Any

import torch

from zerograd.lab.shapes import Make, drawn, shape_net


def gated_scene(*, steps: int, make: Make, seed: int = 0, every: int = 3) -> dict[str, Any]:
    """Batches of (x, kind, size): size is None but for every `every`-th, where that head learns too."""
    model = shape_net(seed=seed)
    images, kinds, radius = drawn(1024, seed=seed)
    order = torch.Generator().manual_seed(seed)
    rows = [torch.randint(1024, (32,), generator=order) for _ in range(steps)]

    def loss_of(x: torch.Tensor, kind: torch.Tensor, size: torch.Tensor | None) -> torch.Tensor:
        loss = torch.nn.functional.cross_entropy(model(x), kind)
        return loss if size is None else loss + torch.nn.functional.mse_loss(model.sizes(x), size)

    return {
        "model": model,
        "optimizer": make(model.parameters()),
        "batches": [
            (images[some], kinds[some], radius[some] if number % every == 0 else None)
            for number, some in enumerate(rows)
        ],
        "loss_of": loss_of,
    }
