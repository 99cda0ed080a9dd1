"""C11: with set_to_none, code that reads .grad must be ready for None."""

from functools import partial

from matplotlib.figure import Figure

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.figure import BAD, GOOD, bars
from zerograd.lab.loop import Loop
from zerograd.lab.meeting import Bug, codes
from zerograd.lab.shapes import shapes_scene

STEPS = 12
READER = Loop(
    "the norm is read between clear and backward",
    """\
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for x, y in batches:
    optimizer.zero_grad()
    for p in model.parameters():
        norms.append(p.grad.norm().item())
    loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
""",
)
ZEROS = Loop("the same over zeros", READER.text.replace("zero_grad()", "zero_grad(set_to_none=False)"))
ASKING = Loop(
    "the same, asking first",
    READER.text.replace("p.grad.norm().item()", "0.0 if p.grad is None else p.grad.norm().item()"),
)
AFTER = Loop(
    "the norm is read after backward",
    """\
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for x, y in batches:
    optimizer.zero_grad()
    loss = loss_fn(model(x), y)
    loss.backward()
    for p in model.parameters():
        norms.append(p.grad.norm().item())
    optimizer.step()
""",
)
STEP = Loop(
    "the norm is read by Step",
    """\
import torch
from zerograd import Step


def log(named):
    norms.extend(gradient.norm().item() for gradient in named.values())


step = Step(torch.optim.SGD(model.parameters(), lr=0.05), model=model, inspect=log)
for x, y in batches:
    with step:
        step.backward(loss_fn(model(x), y))
""",
)


FIRST = Loop(
    "one step before",
    """\
import torch

for x, y in batches[:1]:
    loss_fn(model(x), y).backward()
    optimizer.step()
""",
)


def _scene(steps: int = STEPS) -> dict[str, object]:
    """Gradients exist already: what follows is no first iteration."""
    return FIRST.run(shapes_scene(steps=steps, spare=False)) | {"norms": []}


def measure() -> Measured:
    measured: Measured = {"steps": STEPS, "norms": 6 * STEPS}
    for loop in (READER, ZEROS, ASKING, AFTER):
        played = loop.play(_scene())
        norms = played.names["norms"] if not played.error else []
        measured[f"{loop.name}: ends with"] = type(played.error).__name__ if played.error else "nothing"
        measured[f"{loop.name}: norms read that are not 0"] = sum(norm > 0 for norm in norms)
    measured["check on the first"] = list(codes(READER.checked(), "ZG303"))
    return measured


def judge(measured: Measured) -> Verdict:
    raises = measured[f"{READER.name}: ends with"] != "nothing"
    over_zeros = measured[f"{ZEROS.name}: ends with"] != "nothing"
    if not raises or over_zeros:
        return Verdict(Ruling.DOES_NOT_HOLD, "" if raises else "reading .grad after the clear raises nothing")
    asked = measured[f"{ASKING.name}: norms read that are not 0"]
    return Verdict(
        Ruling.HOLDS,
        "for what is read between the clear and the backward. Being ready is not enough to be right: with the "
        f"check, or over zeros, all is quiet and {asked} of {measured['norms']} norms are more than 0; read after "
        f"the backward, {measured[f'{AFTER.name}: norms read that are not 0']} are.",
    )


def shown(measured: Measured) -> str:
    found = ", ".join(measured["check on the first"]) or "nothing"
    with_none, with_zeros = (measured[f"{loop.name}: ends with"] for loop in (READER, ZEROS))
    return f"{with_none} with None, {with_zeros} with zeros; check predicts it with {found}"


def draw(figure: Figure, measured: Measured) -> None:
    figure.set_size_inches(4.8, 2.4)
    axes = figure.subplots()
    counts = {
        name: measured[f"{loop.name}: norms read that are not 0"]
        for name, loop in (
            ("None: raises", READER),
            ("zeros", ZEROS),
            ("None, asking first", ASKING),
            ("after backward", AFTER),
        )
    }
    bars(axes, counts, form="{:.0f}", colours=[GOOD if count else BAD for count in counts.values()])
    axes.set(xlabel=f"norms read that mean something (of {measured['norms']})")


CLAIM = Claim(
    id="C11",
    statement="With set_to_none, code that reads .grad must be ready for None",
    bugs=(
        Bug(
            READER,
            "ZG303",
            partial(_scene, 4),
            right=AFTER,
            step=STEP,
            because="inspect= is called with the gradients that the step is about to consume: they are there.",
        ),
    ),
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="Only what is read after the backward means something; asking for None first silences the error, not the "
    "fault.",
    advice="Read gradients between backward and step. A check for None there is for parameters that took no part, "
    "not for a loop that reads too early.",
)
