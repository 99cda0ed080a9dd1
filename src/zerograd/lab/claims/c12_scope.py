"""C12: model.zero_grad() and optimizer.zero_grad() are the same only when the optimizer covers the whole model."""

import copy
from functools import partial
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.optim import SGD
from torch.optim.optimizer import register_optimizer_step_pre_hook

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, FAINT, GOOD, THIRD, curves
from zerograd.lab.loop import Loop, differing, gradients, weights
from zerograd.lab.meeting import Bug
from zerograd.lab.mixture import MODES, centres, gan_scene, quality
from zerograd.lab.shapes import shapes_scene
from zerograd.lab.statistics import interval, told

STEPS = 60
GAN_STEPS = 1200
LEAKED = "GAN: share of D's update that leaked"
_PLAIN = """\
import torch

for x, y in batches:
    {who}.zero_grad()
    loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
"""
BY_MODEL, BY_OPTIMIZER = (Loop(f"{who}.zero_grad()", _PLAIN.format(who=who)) for who in ("model", "optimizer"))
_HEAD = """\
import torch

optimizer = torch.optim.SGD(model.kind.parameters(), lr=0.05)
for x, y in batches:
    {who}.zero_grad()
    loss = loss_fn(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
"""
HEAD_BY_OPTIMIZER = Loop("only the head is trained, the optimizer clears", _HEAD.format(who="optimizer"))
HEAD_BY_MODEL = Loop("only the head is trained, the model clears", _HEAD.format(who="model"))
_GAN = """\
import torch
from torch.nn import functional as F

g_optimizer = torch.optim.Adam(G.parameters(), lr=3e-3, betas=(0.5, 0.99))
d_optimizer = torch.optim.Adam(D.parameters(), lr=3e-3, betas=(0.5, 0.99))
for real, noise in batches:
    {first}
    fake = G(noise)
    g_loss = F.softplus(-D(fake)).mean()
    g_loss.backward()
    g_optimizer.step()
{second}    d_loss = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    d_loss.backward()
    d_optimizer.step()
"""
LEAKY = Loop(
    "a GAN, cleared at the top only",
    _GAN.format(first="g_optimizer.zero_grad()\n    d_optimizer.zero_grad()", second=""),
)
CLEAN = Loop(
    "a GAN, each cleared before its own backward",
    _GAN.format(first="g_optimizer.zero_grad()", second="    d_optimizer.zero_grad()\n"),
)
HALF = Loop("a GAN, one of two optimizers cleared", _GAN.format(first="g_optimizer.zero_grad()", second=""))
STEP_GAN = Loop(
    "a GAN through Step",
    """\
import torch
from torch.nn import functional as F
from zerograd import Step

step_g = Step(torch.optim.Adam(G.parameters(), lr=3e-3, betas=(0.5, 0.99)))
step_d = Step(torch.optim.Adam(D.parameters(), lr=3e-3, betas=(0.5, 0.99)))
for real, noise in batches:
    with step_g:
        fake = G(noise)
        step_g.backward(F.softplus(-D(fake)).mean())
    with step_d:
        step_d.backward(F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean())
""",
)
_PLAYERS = """\
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1))
model = nn.ModuleList([G, D])
"""


def _whole_gan(loop: Loop) -> Loop:
    """The loop with both networks in sight: what `check` has to see to prove whom a loss reaches."""
    head, rest = loop.text.split("\n\n", 1)
    step = "from zerograd import Step\n" if "import Step" in head else ""
    return Loop(loop.name, step + _PLAYERS + rest)


STEP_HEAD = Loop(
    "only the head, through Step",
    """\
import torch
from zerograd import Step

step = Step(torch.optim.SGD(model.kind.parameters(), lr=0.05), clip=0.1)
for x, y in batches:
    with step:
        step.backward(loss_fn(model(x), y))
""",
)
HEAD_RIGHT = Loop(
    "only the head, only its norm",
    HEAD_BY_MODEL.text.replace("model.parameters(), 0.1", "model.kind.parameters(), 0.1"),
)


def _same(make: Any) -> int:
    """Weights that differ between the two clears when the optimizer holds all of the model."""
    ended = [weights(loop.run(shapes_scene(steps=STEPS, make=make))["model"]) for loop in (BY_MODEL, BY_OPTIMIZER)]
    return differing(*ended)


def _clipped(loop: Loop) -> list[float]:
    """The norm of the head's gradient at each step, behind a clip over the whole model."""
    scene = shapes_scene(steps=STEPS)
    seen: list[float] = []
    hook = register_optimizer_step_pre_hook(lambda *_: seen.append(float(gradients(scene["model"].kind).norm())))
    try:
        loop.run(scene)
    finally:
        hook.remove()
    return seen


def _consumed_by(module: nn.Module, loop: Loop, scene: dict[str, Any]) -> Tensor:
    """The gradient that the module's own optimizer consumes in its first step."""
    seen: list[Tensor] = []
    mine = next(module.parameters())

    def before(optimizer: torch.optim.Optimizer, *_: object) -> None:
        if optimizer.param_groups[0]["params"][0] is mine:
            seen.append(gradients(module))

    hook = register_optimizer_step_pre_hook(before)
    try:
        loop.run(scene)
    finally:
        hook.remove()
    return seen[0]


def _leaked(seed: int) -> float:
    """The generator's share of the norm that D consumes, in a GAN that has trained for a while."""
    scene = gan_scene(steps=60, seed=seed)
    CLEAN.run(scene)
    last = scene["batches"][-1:]
    consumed = []
    for loop in (LEAKY, CLEAN):
        model = copy.deepcopy(scene["model"])
        for parameter in model.parameters():
            parameter.grad = None
        consumed.append(_consumed_by(model.D, loop, scene | {"G": model.G, "D": model.D, "batches": last}))
    theirs = float((consumed[0] - consumed[1]).norm())
    return theirs / (theirs + float(consumed[1].norm()))


def measure() -> Measured:
    measured: Measured = {
        "whole model, SGD: weights that differ": _same(partial(SGD, lr=0.05)),
        "whole model, momentum: weights that differ": _same(partial(SGD, lr=0.02, momentum=0.9)),
        "head only: norm of its clipped gradient, optimizer clears": _clipped(HEAD_BY_OPTIMIZER),
        "head only: norm of its clipped gradient, model clears": _clipped(HEAD_BY_MODEL),
        LEAKED: interval([_leaked(seed) for seed in range(5)]),
    }
    for name, loop in (("clean", CLEAN), ("leaky", LEAKY)):
        drawn = [quality(loop.run(gan_scene(steps=GAN_STEPS, seed=seed))["model"]) for seed in range(3)]
        measured[f"GAN, {name}: modes drawn"] = [modes for modes, _, _ in drawn]
        measured[f"GAN, {name}: share of points in a mode"] = interval([inside for _, inside, _ in drawn])
        measured[f"GAN, {name}: points"] = drawn[0][2]
    return measured


def _head_scene() -> dict[str, Any]:
    """Without the optimizer of the whole model: the loop makes its own, and the backbone belongs to nobody."""
    scene = shapes_scene(steps=8)
    del scene["optimizer"]
    return scene


def _shrunk(measured: Measured) -> float:
    """What is left of the head's update at the end, because the clip measured gradients that nobody clears."""
    mine, all_ = (
        measured[f"head only: norm of its clipped gradient, {who} clears"][-10:] for who in ("optimizer", "model")
    )
    return float(sum(mine) / sum(all_))


def judge(measured: Measured) -> Verdict:
    whole = sum(value for name, value in measured.items() if name.startswith("whole model"))
    leak, left = measured[LEAKED], _shrunk(measured)
    if whole or leak["low"] <= 0.01:
        return Verdict(Ruling.DOES_NOT_HOLD, f"{whole} weights differ on a whole model; {leak['mean']:.0%} leaked")
    return Verdict(
        Ruling.HOLDS_IF,
        f"the groups cover the whole model ({whole} weights differ). They fail differently where they do not: in a "
        f"GAN, gradients that nobody clears between G's backward and D's own make up {told(leak, '.0%')} of the "
        "norm of D's update, so each optimizer is cleared before its own backward; with one trained head on a "
        "backbone that keeps receiving gradients, optimizer.zero_grad() never clears the backbone, and a clip over "
        f"the model leaves {left:.0%} of the head's update: there model.zero_grad() is the safe one.",
    )


def shown(measured: Measured) -> str:
    whole = sum(value for name, value in measured.items() if name.startswith("whole model"))
    clean, leaky = (measured[f"GAN, {name}: share of points in a mode"] for name in ("clean", "leaky"))
    return (
        f"whole model: {whole} weights differ; GAN: {told(measured[LEAKED], '.0%')} of the norm of D's update "
        f"leaked, points in a mode {told(clean, '.0%')} without the leak and {told(leaky, '.0%')} with it; head on "
        f"a backbone: {_shrunk(measured):.0%} of the clipped update left"
    )


def draw(figure: Figure, measured: Measured) -> None:
    figure.set_size_inches(4.8, 5.0)
    grid = figure.add_gridspec(2, 2, height_ratios=(1, 1))
    for column, name in enumerate(("clean", "leaky")):
        axes = figure.add_subplot(grid[0, column])
        x, y = zip(*measured[f"GAN, {name}: points"], strict=True)
        axes.scatter(x, y, s=5, color=GOOD if name == "clean" else BAD)
        axes.scatter(centres()[:, 0], centres()[:, 1], s=60, facecolors="none", edgecolors=FAINT)
        axes.set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6), xlabel="x", ylabel="y", aspect="equal")
        axes.set_title(f"{name}: {measured[f'GAN, {name}: modes drawn'][0]} of {MODES} modes")
    bottom = figure.add_subplot(grid[1, :])
    curves(
        bottom,
        {
            f"{who}.zero_grad()": measured[f"head only: norm of its clipped gradient, {who} clears"]
            for who in ("model", "optimizer")
        },
        colours=(GOOD, BAD, THIRD),
    )
    bottom.set(xlabel="step", ylabel="norm of the head's update", title="one head on a backbone", ylim=(0, None))


CLAIM = Claim(
    id="C12",
    statement="model.zero_grad() and optimizer.zero_grad() are the same only when the optimizer covers the whole "
    "model; with several optimizers the optimizer's own is the safe one",
    bugs=(
        Bug(
            _whole_gan(LEAKY),
            "ZG005",
            partial(gan_scene, steps=8),
            right=_whole_gan(CLEAN),
            step=_whole_gan(STEP_GAN),
            because="A Step leaves gradients in its own optimizer's parameters only.",
        ),
        Bug(
            _whole_gan(HALF),
            "ZG006 ZG001",
            partial(gan_scene, steps=8),
            right=_whole_gan(CLEAN),
            step=_whole_gan(STEP_GAN),
            because="Each block clears what it steps; there is no second clear to forget.",
        ),
        Bug(
            HEAD_BY_OPTIMIZER,
            "ZG008",
            _head_scene,
            right=HEAD_RIGHT,
            step=STEP_HEAD,
            because="The backbone gets no gradient from this Step, and clip= measures what the Step consumes.",
            tolerance=1e-6,
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="Above, what a GAN without and with the leak draws after the same number of steps (rings: the truth); below, "
    "the head's update, which is shorter where the clip also measures gradients that nobody clears.",
    advice="Clear each optimizer right before the backward that is meant for it. Freeze what you do not train with "
    "`requires_grad_(False)`: then nothing is left there to clear.",
)
