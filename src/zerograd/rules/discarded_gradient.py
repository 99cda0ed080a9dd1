"""A step finds nothing, because the gradients were cleared before it could use them.

`zero_grad()` stands between `backward()` and `step()`, so every step works on an empty `.grad`. With plain SGD the
weights do not move at all; with momentum or weight decay they move, which hides the fault: the loss changes, and
nothing is learned from the data.

Clearing gradients that nobody steps on is not this fault: the discriminator's by-catch of a generator pass, an
adversarial probe, a batch that is skipped because it is not finite. The fault is the step that starves; and the clear
in the middle of an accumulation window, whose step gets only what comes after it. So it is where every call clears and
deposits, and only every Nth steps.

A run also finds the loss that is lost between two others: before every step the same backward is erased, its gradients
belonged to this optimizer alone, and the program never looks at a gradient.
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


UNUSED = "{clear} erases what backward() on line {line} deposited, every time before any step has used it"


def breaks(one: Wasted) -> Iterator[Broken]:
    """A backward that no step ever uses, beside steps that find nothing."""
    yield Broken(one.site, one.certain, {"clear": one.clear, "line": str(one.deposit.line)}, UNUSED)


RULE = Rule(
    code="ZG002",
    name="discarded-gradient",
    message="{step} has nothing to consume: {clear} erases what {deposit} deposited",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="move zero_grad() before backward(), or after step()",
    fix=Fix.UNSAFE,
    lacks=lacks,
    asks=Question(Wasted, breaks),
    led_by=(Content.FRESH, Content.LOST),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
