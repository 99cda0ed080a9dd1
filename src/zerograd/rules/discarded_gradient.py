"""A step finds no gradients, because they were cleared before it could use them.

`zero_grad()` is called between `backward()` and `step()`, so every step works on an empty `.grad`. With plain SGD the
weights do not move at all. With momentum or weight decay they do move, which hides the bug: the loss changes, and
nothing is learned from the data.

Clearing gradients that no step needs is fine: those a generator's loss leaves in the discriminator, those of an
adversarial attack, those of a batch that is skipped because its loss is not finite. Two things are reported: a step
that finds nothing, and a clear in the middle of gradient accumulation, after which the step gets only the micro-batches
that come later. The second happens where a function clears and runs backward every time, and steps only every N times.

A run also finds a loss that is always thrown away: before every step the gradients of the same backward are cleared,
they belonged to this optimizer alone, and the program never reads them.
"""

from collections.abc import Iterator

from zerograd.core.events import Event, Kind
from zerograd.core.machine import Content, State
from zerograd.core.world import Wasted
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees
from zerograd.rules.scenery import PLAIN

BAD = """\
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()  # error: [ZG002]
"""

GOOD = """\
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def lacks(state: State, event: Event) -> Kind | None:
    if event.kind is Kind.CONSUME and state.content is Content.LOST:
        return Kind.DEPOSIT
    # The micro-batches before it waited for the step at the end of their window.
    return Kind.CONSUME if event.kind is Kind.CLEAR and event.midway and state.content is Content.FRESH else None


UNUSED = "{clear} erases the gradients of line {line} before any step uses them"
IN_CLOSURE = "move {clear} to the top of the closure"
KEEP = "remove this {clear}: step() needs the gradients of line {line} too"


def breaks(one: Wasted) -> Iterator[Broken]:
    """A backward that no step ever uses, beside steps that find nothing."""
    yield Broken(one.site, one.certain, {"clear": one.clear, "line": str(one.deposit.line)}, UNUSED, KEEP)


RULE = Rule(
    code="ZG002",
    name="discarded-gradient",
    message="{step} finds no gradients: they were cleared too early",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="move {clear} to right after {step}",
    fix=Fix.UNSAFE,
    lacks=lacks,
    asks=Question(Wasted, breaks),
    led_by=(Content.FRESH, Content.LOST),
    beside=((Kind.DEPOSIT, "computes the gradients"), (Kind.CLEAR, "clears them before any step")),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
