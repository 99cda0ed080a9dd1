"""Gradients are clipped where it has no effect, or more often than once a step.

Clipping belongs between the last `backward()` of a step and the step itself. After the step it shortens gradients that
were already used; before the backward it shortens leftovers, or nothing. Once per micro-batch it clips partial sums:
the first micro-batches are cut again and again, and the result is no longer the clipped gradient of the group. And a
clip of one network before the step of another (`clip_grad_norm_(policy.parameters())` before `value_optimizer.step()`)
clips nothing that is used.

A clip with an infinite limit only measures the norm and is never reported.
"""

from collections.abc import Iterator

from zerograd.core.events import Event, Kind
from zerograd.core.machine import HOLLOW, Content, Mark, State
from zerograd.core.world import UnusedClip
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees
from zerograd.rules.scenery import PLAIN

BAD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # error: [ZG302]
"""

GOOD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
"""


def lacks(state: State, event: Event) -> Kind | None:
    if event.kind is Kind.CLIP and (state.content is Content.SPENT or state.content in HOLLOW):
        return Kind.DEPOSIT
    # A deposit on top of what was clipped: it was too early, whoever deposited before it.
    clipped = Mark.BLIND in state.marks or (state.content is Content.FRESH and Mark.CLIPPED in state.marks)
    # What an iteration that was given up has left is a fault of its own.
    return Kind.CONSUME if event.kind is Kind.DEPOSIT and clipped and Mark.LEFT not in state.marks else None


def breaks(clip: UnusedClip) -> Iterator[Broken]:
    """A clip of what no step uses."""
    yield Broken(clip.site, clip.certain, {"clip": clip.what, "place": clip.place})


RULE = Rule(
    code="ZG302",
    name="clip-out-of-place",
    message="{clip} clips {place}",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="clip once, after the last backward() and before the step",
    fix=Fix.UNSAFE,
    lacks=lacks,
    asks=Question(UnusedClip, breaks),
    at=Kind.CLIP,
    led_by=(Content.SPENT, Kind.CLIP),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
