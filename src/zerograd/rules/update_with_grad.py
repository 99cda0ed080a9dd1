"""A parameter is updated by hand outside `torch.no_grad()`, or the update creates a new tensor.

`W -= lr * W.grad` raises outside `torch.no_grad()` if `W` is a leaf that requires a gradient. `W = W - lr * W.grad`
does not raise, which is worse. It creates a new tensor that is not a leaf, whose `.grad` stays None, and the graph of
every iteration is linked to the next. Write `with torch.no_grad(): W -= lr * W.grad` and clear the gradient afterwards.

`for p in net.parameters(): p = p - lr * p.grad` changes nothing at all: the loop variable now names a new tensor, and
the parameter stays as it was. The same goes for `mine = tau * theirs + (1 - tau) * mine` in a loop over the parameters
of two networks: the target network never changes. Write `mine.copy_(...)` under `torch.no_grad()`.

`p.add(e)` as a statement changes nothing either: without the underscore it returns a new tensor, which is dropped.
Write `p.add_(e)`.
"""

from collections.abc import Iterator

from zerograd.core.world import HowLost, LostUpdate
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
W = torch.zeros(4, 1, requires_grad=True)
for x, y in loader:
    loss = nn.functional.mse_loss(x @ W, y)
    loss.backward()
    W = W - 0.1 * W.grad  # error: [ZG304]
"""

GOOD = """\
W = torch.zeros(4, 1, requires_grad=True)
for x, y in loader:
    loss = nn.functional.mse_loss(x @ W, y)
    loss.backward()
    with torch.no_grad():
        W -= 0.1 * W.grad
    W.grad = None
"""

_SAID = {
    HowLost.LOOP_VARIABLE: "{text} rebinds only the loop variable",
    HowLost.NEW_TENSOR: "{text} creates a new tensor, which gets no .grad",
    HowLost.DROPPED: "{text} does not change the {what}: its result is dropped",
    HowLost.WATCHED: "{text} raises: it changes {name} outside torch.no_grad()",
}
_CURES = {
    HowLost.LOOP_VARIABLE: "update it in place: with torch.no_grad(): {name}.copy_(...)",
    HowLost.DROPPED: "call {name}_() instead: it changes the {what} in place",
}


def breaks(lost: LostUpdate) -> Iterator[Broken]:
    """An update that changes no parameter."""
    names = {"text": lost.text, "name": lost.name, "what": lost.what}
    said, cure = _SAID[lost.how].format(**names), _CURES.get(lost.how, "").format(**names)
    yield Broken(lost.site, lost.certain, {"what": said}, remedy=cure)


RULE = Rule(
    code="ZG304",
    name="update-with-grad",
    message="{what}",
    sees=Sees.SOURCE,
    remedy="update it in place: with torch.no_grad(): W -= lr * W.grad",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(LostUpdate, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
