"""Gradients are clipped where it has no effect, or more than once per step.

Clip between the last `backward()` and the step. After the step, the clipped gradients were already used. Before
`backward()` there is nothing to clip, or only leftovers. Once per micro-batch, partial sums are clipped: the first
micro-batches are cut again and again, and the result is not the clipped gradient of the group. Clipping one network
before another one steps (`clip_grad_norm_(policy.parameters())` before `value_optimizer.step()`) also has no effect.

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
    yield Broken(clip.site, clip.certain, {"clip": clip.what, "place": clip.place}, remedy=clip.fix)


RULE = Rule(
    code="ZG302",
    name="clip-out-of-place",
    message="{clip} clips {place}",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="clip once, after the last backward() and right before step()",
    fix=Fix.UNSAFE,
    lacks=lacks,
    asks=Question(UnusedClip, breaks),
    at=Kind.CLIP,
    led_by=(Content.SPENT, Kind.CLIP),
    beside=((Kind.CONSUME, "has already used the gradients"),),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
