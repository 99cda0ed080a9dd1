"""C01: where the clear stands, before or after the forward pass, changes nothing in a plain loop."""

from collections.abc import Callable, Iterable

from torch import Tensor
from torch.optim import SGD, Adam, AdamW, Optimizer

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.loops import CLEAR_AFTER_FORWARD, CLEAR_AT_TOP, Loop
from zerograd.lab.tasks import telling_shapes_apart, weights

STEPS = 120
OPTIMIZERS: dict[str, Callable[[Iterable[Tensor]], Optimizer]] = {
    "SGD": lambda parameters: SGD(parameters, lr=0.05),
    "SGD with momentum": lambda parameters: SGD(parameters, lr=0.02, momentum=0.9),
    "Adam": lambda parameters: Adam(parameters, lr=0.003),
    "AdamW": lambda parameters: AdamW(parameters, lr=0.003),
}


def _trained(loop: Loop, make: Callable[[Iterable[Tensor]], Optimizer]) -> Tensor:
    task = telling_shapes_apart(steps=STEPS)
    loop.train(task.model, make(task.model.parameters()), task.batches, task.loss_fn)
    return weights(task.model)


def measure() -> Measured:
    differing = {
        name: int((_trained(CLEAR_AT_TOP, make) != _trained(CLEAR_AFTER_FORWARD, make)).sum())
        for name, make in OPTIMIZERS.items()
    }
    return {
        "steps": STEPS,
        "weights": int(weights(telling_shapes_apart(steps=1).model).numel()),
        **{f"weights that differ, {name}": count for name, count in differing.items()},
        "gradient bytes kept through the forward pass": _kept_through_forward(),
    }


def _kept_through_forward() -> int:
    """What clearing after the forward pass keeps alive while the activations are made."""
    model = telling_shapes_apart(steps=1).model
    return sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())


def judge(measured: Measured) -> Verdict:
    same = all(value == 0 for name, value in measured.items() if name.startswith("weights that differ"))
    return Verdict(Ruling.HOLDS if same else Ruling.DOES_NOT_HOLD)


def shown(measured: Measured) -> str:
    differing = sum(value for name, value in measured.items() if name.startswith("weights that differ"))
    made = f"{measured['steps']} steps of {len(OPTIMIZERS)} optimizers"
    return f"{differing} of {measured['weights']} weights differ after {made}"


CLAIM = Claim(
    id="C01",
    statement="Clearing at the top of the iteration and clearing after the forward pass train the same",
    measure=measure,
    judge=judge,
    shown=shown,
    advice="Choose either in a plain loop. At the top is the better habit: it frees the old gradients before the "
    "forward pass needs memory, and it cannot erase a deposit that an earlier loss of the same step has made.",
)
