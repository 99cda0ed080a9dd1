"""C21: how zeroing and tracking interact: must .grad.zero_() be used when gradients are tracked?"""

from collections import deque
from typing import Any

from matplotlib.figure import Figure

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD, THIRD, curves
from zerograd.lab.loop import Loop, differing, weights
from zerograd.lab.meeting import Bug
from zerograd.lab.memory import Bytes
from zerograd.lab.shapes import shapes_scene

ITERATIONS = 12
_TEXT = """\
import torch

for x, y in batches:
    {clear}
    loss = loss_fn(model(x), y)
    loss.backward({tracked})
    optimizer.step()
    losses.append(loss.item())
"""
_CLEARS = {
    "optimizer.zero_grad()": "optimizer.zero_grad()",
    "zero_grad(set_to_none=False)": "optimizer.zero_grad(set_to_none=False)",
    ".grad.zero_()": "for p in model.parameters():\n        if p.grad is not None:\n            p.grad.zero_()",
}
TRACKED = {
    name: Loop(f"{name}, tracked", _TEXT.format(clear=clear, tracked="create_graph=True"))
    for name, clear in _CLEARS.items()
}
PLAIN = {name: Loop(f"{name}, not tracked", _TEXT.format(clear=clear, tracked="")) for name, clear in _CLEARS.items()}
STEP = Loop(
    "a penalty on the gradient, through Step",
    """\
from zerograd import Step

step = Step(optimizer)
for x, y in batches:
    with step:
        loss = loss_fn(model(x), y)
        step.backward(loss)
    losses.append(loss.item())
""",
)


def _scene(*, steps: int = 8) -> dict[str, Any]:
    return shapes_scene(steps=steps, batch=16, spare=False)


def _nodes(root: Any) -> int:
    """How many operations a gradient remembers."""
    seen = {root}
    waiting = deque(seen)
    while waiting:
        for following, _ in waiting.popleft().next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
    return len(seen)


def _growth(loop: Loop) -> tuple[list[int], list[int]]:
    """At each step, the operations behind a gradient (0: it has no history), and the bytes that are alive."""
    scene = _scene(steps=ITERATIONS)
    bias = scene["model"].kind.bias
    nodes: list[int] = []
    alive: list[int] = []
    meter = Bytes()

    def before(*_: object) -> None:
        nodes.append(_nodes(bias.grad.grad_fn) if bias.grad.grad_fn is not None else 0)
        alive.append(meter.live)

    scene["optimizer"].register_step_pre_hook(before)
    with meter:
        loop.run(scene)
    for parameter in scene["model"].parameters():
        parameter.grad = None  # a graph that holds the parameters that hold it would never be freed
    return nodes, alive


def measure() -> Measured:
    measured: Measured = {"iterations": ITERATIONS}
    for name, loop in TRACKED.items():
        measured[f"{name}: operations behind .grad"], measured[f"{name}: bytes alive"] = _growth(loop)
    measured["not tracked: operations behind .grad"] = max(_growth(PLAIN[".grad.zero_()"])[0])
    library, hand = (
        weights(PLAIN[name].run(_scene(steps=60))["model"]) for name in ("optimizer.zero_grad()", ".grad.zero_()")
    )
    measured["not tracked: weights that differ"] = differing(library, hand)
    return measured


def _grows(measured: Measured, name: str) -> bool:
    nodes = measured[f"{name}: operations behind .grad"]
    return bool(nodes[-1] > nodes[1])


def judge(measured: Measured) -> Verdict:
    by_hand, by_none = (_grows(measured, name) for name in (".grad.zero_()", "optimizer.zero_grad()"))
    per = _slope(measured, ".grad.zero_()")
    if by_hand and not by_none:
        same = (
            measured["not tracked: weights that differ"] == 0 and measured["not tracked: operations behind .grad"] == 0
        )
        return Verdict(
            Ruling.DOES_NOT_HOLD,
            f"it is the other way round. With create_graph=True the graph behind .grad grows by {per:.0f} "
            "operations every iteration under .grad.zero_(), and not under zero_grad(), which drops or detaches "
            f"it. Without create_graph .grad has {'no history' if same else 'a history'} and both clears train "
            f"{'the same, bit for bit' if same else 'differently'}: there .grad.zero_() may be used, and never must.",
        )
    if by_none and not by_hand:
        return Verdict(Ruling.HOLDS, "only .grad.zero_() keeps the graph from growing")
    if not by_hand:
        return Verdict(Ruling.HOLDS_IF, "either clear may be used: neither lets a graph grow")
    return Verdict(Ruling.DOES_NOT_HOLD, "the graph grows under both")


def _slope(measured: Measured, name: str) -> float:
    nodes = measured[f"{name}: operations behind .grad"]
    return float(nodes[-1] - nodes[1]) / (len(nodes) - 2)


def shown(measured: Measured) -> str:
    return "operations behind .grad, first and last iteration: " + ", ".join(
        f"{measured[f'{name}: operations behind .grad'][0]} and "
        f"{measured[f'{name}: operations behind .grad'][-1]} ({name})"
        for name in TRACKED
    )


def draw(figure: Figure, measured: Measured) -> None:
    figure.set_size_inches(4.8, 4.6)
    top, bottom = figure.subplots(2, sharex=True)
    colours = (GOOD, THIRD, BAD)
    curves(top, {name: measured[f"{name}: operations behind .grad"] for name in TRACKED}, colours=colours)
    top.set(ylabel="operations behind .grad", title="backward(create_graph=True)")
    megabytes = {name: [size / 1e6 for size in measured[f"{name}: bytes alive"]] for name in TRACKED}
    curves(bottom, megabytes, colours=colours)
    bottom.get_legend().remove()
    bottom.set(xlabel="iteration", ylabel="memory alive (MB)", ylim=(0, None))


CLAIM = Claim(
    id="C21",
    statement="When gradients are tracked, .grad.zero_() must be used to clear them",
    bugs=(
        Bug(
            TRACKED[".grad.zero_()"],
            "ZG402",
            _scene,
            right=PLAIN["optimizer.zero_grad()"],
            step=STEP,
            because="A Step clears by None, and what it consumes has no history.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="With create_graph=True, zeroing in place drags the graph of every earlier iteration along (red); "
    "zero_grad() lets go of it (blue and violet).",
    advice="Clear with `optimizer.zero_grad()`. If a penalty needs the gradient of a gradient, take it with "
    "`torch.autograd.grad(..., create_graph=True)`: that leaves `.grad` out of it.",
)
