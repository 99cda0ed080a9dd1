"""C17: custom logic that reads or edits .grad between forward and step must know when it was last cleared."""

from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD
from zerograd.lab.loop import Loop, distance, gradients
from zerograd.lab.meeting import Bug
from zerograd.lab.shapes import shapes_scene

STEPS = 30
LIMIT = 0.05
_ACTS = {
    "noise": """\
for p in model.parameters():
        if p.grad is not None:
            p.grad.add_(torch.randn_like(p.grad), alpha=0.003)""",
    "logging": "norms.append(sum(float(p.grad.norm() ** 2) for p in model.parameters() if p.grad is not None) ** 0.5)",
    "clipping": f"for p in model.parameters():\n        torch.nn.utils.clip_grad_norm_([p], {LIMIT})",
    "clipping all": f"torch.nn.utils.clip_grad_norm_(model.parameters(), {LIMIT})",
}
_EARLY = """\
import torch

for x, y in batches:
    loss = loss_fn(model(x), y)
    {act}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
_LATE = """\
import torch

for x, y in batches:
    optimizer.zero_grad()
    loss = loss_fn(model(x), y)
    loss.backward()
    {act}
    optimizer.step()
"""
EARLY = {name: Loop(f"{name} before the backward", _EARLY.format(act=act)) for name, act in _ACTS.items()}
LATE = {name: Loop(f"{name} before the step", _LATE.format(act=act)) for name, act in _ACTS.items()}
NOISY = """\
import torch
from zerograd import Step


def noise(named):
    for gradient in named.values():
        gradient.add_(torch.randn_like(gradient), alpha=0.003)


step = Step(optimizer, model=model, inspect=noise)
for x, y in batches:
    with step:
        step.backward(loss_fn(model(x), y))
"""
STEP_NOISE = Loop("noise through Step", NOISY)
STEP_CLIP = Loop(
    "clipping through Step",
    f"""\
from zerograd import Step

step = Step(optimizer, clip={LIMIT})
for x, y in batches:
    with step:
        step.backward(loss_fn(model(x), y))
""",
)
STEP_EDITING = Loop(
    "edited in a Step",
    """\
import torch
from zerograd import Step

step = Step(optimizer)
for x, y in batches:
    with step:
        step.backward(loss_fn(model(x), y))
        for p in model.parameters():
            p.grad.add_(torch.randn_like(p.grad), alpha=0.003)
""",
)


def _scene(*, steps: int = 8) -> dict[str, Any]:
    torch.manual_seed(7)
    return shapes_scene(steps=steps, spare=False) | {"norms": []}


class _Seen:
    """What the steps of a loop consumed, and what the deposits before them were."""

    def __init__(self, loop: Loop) -> None:
        self.consumed: list[Tensor] = []
        self.deposited: list[Tensor] = []
        scene = _scene(steps=STEPS)
        model = scene["model"]
        count = sum(1 for _ in model.parameters())
        filled: list[int] = []

        def after(parameter: Tensor) -> None:
            filled.append(1)
            if len(filled) % count == 0:
                self.deposited.append(gradients(model))

        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(after)
        scene["optimizer"].register_step_pre_hook(lambda *_: self.consumed.append(gradients(model)))
        torch.manual_seed(8)
        loop.run(scene)
        self.norms: list[float] = scene["norms"]
        self.largest = max(float(gradient.norm()) for gradient in self.consumed)


def _reached(loop: Loop) -> float:
    """How far what is consumed is from what was deposited: the edit, if it reached the step."""
    seen = _Seen(loop)
    return max(distance(used, given) for used, given in zip(seen.consumed, seen.deposited, strict=True))


def _logged(loop: Loop) -> float:
    """The share of logged norms that are those of the gradient which the step consumed."""
    seen = _Seen(loop)
    pairs = zip(seen.norms, seen.consumed, strict=True)
    return sum(abs(norm - float(used.norm())) < 1e-5 * norm for norm, used in pairs) / len(seen.norms)


def _over(loop: Loop) -> float:
    """The largest norm that a step consumed, over the limit that the clip was given."""
    return _Seen(loop).largest / LIMIT


def measure() -> Measured:
    return {
        "noise before the backward: reaches the step (share)": _reached(EARLY["noise"]),
        "noise before the step: reaches the step (share)": _reached(LATE["noise"]),
        "logging before the backward: true norms (share)": _logged(EARLY["logging"]),
        "logging before the step: true norms (share)": _logged(LATE["logging"]),
        "clipping before the backward: largest norm over the limit": _over(EARLY["clipping all"]),
        "clipping before the step: largest norm over the limit": _over(LATE["clipping all"]),
        "per-parameter clipping before the backward: largest norm over the limit": _over(EARLY["clipping"]),
        "per-parameter clipping before the step: largest norm over the limit": _over(LATE["clipping"]),
    }


def judge(measured: Measured) -> Verdict:
    early = (
        measured["noise before the backward: reaches the step (share)"] == 0,
        measured["logging before the backward: true norms (share)"] == 0,
        measured["clipping before the backward: largest norm over the limit"] > 1.01,
    )
    late = (
        measured["noise before the step: reaches the step (share)"] > 0,
        measured["logging before the step: true norms (share)"] == 1,
        measured["clipping before the step: largest norm over the limit"] < 1.01,
    )
    if not all(late) or not any(early):
        return Verdict(Ruling.DOES_NOT_HOLD, "" if all(late) else "even between backward and step it has no effect")
    return Verdict(
        Ruling.HOLDS,
        "between backward and step all three do what they say. Before the backward, with the clear behind them, "
        "noise does not reach the step, every logged norm is that of the step before, and the clip lets "
        f"{measured['clipping before the backward: largest norm over the limit']:.0f} times its limit through.",
    )


def shown(measured: Measured) -> str:
    return (
        "before the backward / before the step: noise "
        f"{measured['noise before the backward: reaches the step (share)']:.0%} / "
        f"{measured['noise before the step: reaches the step (share)']:.0%} of the gradient, true norms logged "
        f"{measured['logging before the backward: true norms (share)']:.0%} / "
        f"{measured['logging before the step: true norms (share)']:.0%}, largest norm / limit "
        f"{measured['clipping before the backward: largest norm over the limit']:.0f} / "
        f"{measured['clipping before the step: largest norm over the limit']:.2f}"
    )


def draw(figure: Figure, measured: Measured) -> None:
    figure.set_size_inches(4.8, 2.8)
    panels = figure.subplots(1, 3)
    shown = (
        ("noise", "reaches the step (share)", "edit / gradient"),
        ("logging", "true norms (share)", "true norms (share)"),
        ("clipping", "largest norm over the limit", "norm / limit"),
    )
    for axes, (name, what, label) in zip(panels, shown, strict=True):
        values = [measured[f"{name} before the {place}: {what}"] for place in ("backward", "step")]
        drawn = axes.bar(["before\nbackward", "before\nstep"], values, 0.6, color=(BAD, GOOD))
        axes.bar_label(drawn, [f"{value:.2g}" for value in values], fontsize=9, padding=1)
        axes.set(title=name, ylabel=label)
        axes.margins(y=0.15)
        axes.tick_params(axis="x", labelsize=8)
        axes.grid(axis="x", visible=False)


CLAIM = Claim(
    id="C17",
    statement="Custom logic that reads or edits .grad between forward and step must know when it was last cleared",
    bugs=(
        Bug(
            EARLY["clipping all"],
            "ZG302",
            _scene,
            right=LATE["clipping all"],
            step=STEP_CLIP,
            tolerance=1e-6,
            because="clip= is applied between the division and the step.",
        ),
        Bug(
            EARLY["noise"],
            "ZG302",
            _scene,
            right=LATE["noise"],
            step=STEP_NOISE,
            attempt=STEP_EDITING,
            because="inspect= is called with the true gradients, right before the clip.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="Each pair is the same act in two places: before the backward (red) it edits, logs or clips a gradient "
    "that the clear then throws away.",
    advice="Edit and read gradients between backward and step, nowhere else; or hand the function to `Step(..., "
    "inspect=fn, clip=...)`.",
)
