"""C05: without clearing, each update is built from all past gradients: slower, unstable, sometimes divergent."""

import math
from collections.abc import Callable, Iterable
from statistics import fmean

from torch import Tensor
from torch.optim import SGD, Adam, Optimizer

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.loops import CLEAR_AT_TOP, NEVER_CLEARED, Loop
from zerograd.lab.tasks import telling_shapes_apart

STEPS = 150
LAST = 20
SEEDS = (0, 1, 2)
Make = Callable[[Iterable[Tensor]], Optimizer]
SETTINGS: dict[str, Make] = {
    "SGD 0.0001": lambda parameters: SGD(parameters, lr=0.0001),
    "SGD 0.001": lambda parameters: SGD(parameters, lr=0.001),
    "SGD 0.01": lambda parameters: SGD(parameters, lr=0.01),
    "SGD 0.1": lambda parameters: SGD(parameters, lr=0.1),
    "Adam 0.0003": lambda parameters: Adam(parameters, lr=0.0003),
    "Adam 0.003": lambda parameters: Adam(parameters, lr=0.003),
}
UNLEARNED = math.log(4)  # the loss of a guess among four shapes


def _final_loss(loop: Loop, make: Make, seed: int) -> float:
    task = telling_shapes_apart(steps=STEPS, seed=seed)
    losses = loop.train(task.model, make(task.model.parameters()), task.batches, task.loss_fn)
    final = fmean(losses[-LAST:])
    return final if math.isfinite(final) else math.inf


def measure() -> Measured:
    measured: Measured = {}
    for name, make in SETTINGS.items():
        measured[f"{name}, cleared"] = [_final_loss(CLEAR_AT_TOP, make, seed) for seed in SEEDS]
        measured[f"{name}, never cleared"] = [_final_loss(NEVER_CLEARED, make, seed) for seed in SEEDS]
    return measured


def _means(measured: Measured) -> dict[str, tuple[float, float]]:
    """For each setting the mean final loss with and without clearing."""
    pairs = {}
    for name in SETTINGS:
        pairs[name] = (fmean(measured[f"{name}, cleared"]), fmean(measured[f"{name}, never cleared"]))
    return pairs


def judge(measured: Measured) -> Verdict:
    pairs = _means(measured)
    worse = [name for name, (cleared, never) in pairs.items() if never > 1.1 * cleared]
    hidden = [name for name in pairs if name not in worse]
    if not worse:
        return Verdict(Ruling.DOES_NOT_HOLD)
    if not hidden:
        return Verdict(Ruling.HOLDS)
    return Verdict(
        Ruling.HOLDS_IF,
        f"the learning rate is not too small: worse with {', '.join(worse)}; "
        f"hidden, or even faster, with {', '.join(hidden)}, where the sum of old gradients acts like momentum",
    )


def shown(measured: Measured) -> str:
    pairs = _means(measured)
    name, (cleared, never) = max(pairs.items(), key=lambda item: item[1][1] - item[1][0])
    diverged = sum(never > UNLEARNED for _, never in pairs.values())
    lost = f"{diverged} of {len(pairs)} settings end worse than a guess"
    return f"{name}: loss {cleared:.2f} cleared, {never:.2f} not; {lost}"


CLAIM = Claim(
    id="C05",
    statement="Without clearing, each update is built from all past gradients: slower, unstable, sometimes divergent",
    buggy=(NEVER_CLEARED,),
    measure=measure,
    judge=judge,
    shown=shown,
    advice="A falling loss proves nothing here: with a small learning rate the fault hides and may even look faster, "
    "until the rate or the length of training changes. Let a tool look: `zerograd check`, or `zerograd run`.",
)
