"""A parameter is updated by hand where autograd is watching, or under a new name.

`W -= lr * W.grad` on a leaf that requires a gradient raises outside `torch.no_grad()`. `W = W - lr * W.grad` does not
raise, which is worse: it makes a new tensor that is no leaf, `W.grad` of the new one stays None, and the graph of every
iteration hangs on to the next. Write `with torch.no_grad(): W -= lr * W.grad` and clear the gradient afterwards.

`for p in net.parameters(): p = p - lr * p.grad` changes nothing at all: the loop variable stands for another tensor,
and the parameter stays what it was. The same goes for `mine = tau * theirs + (1 - tau) * mine` in a loop over the
parameters of two networks: the target never follows. Write `mine.copy_(...)` under `torch.no_grad()`.

`p.add(e)` as a statement changes nothing either: without its underscore the method returns another tensor, and nobody
keeps it. Write `p.add_(e)`.
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
    HowLost.LOOP_VARIABLE: "{text} only gives the loop variable {name} another value: no parameter changes",
    HowLost.NEW_TENSOR: "{text} makes a new tensor instead of updating {name}: it is no leaf, and gets no .grad",
    HowLost.DROPPED: "{text} makes a new tensor that nobody keeps: the {what} stays what it was",
    HowLost.WATCHED: "{text} changes {name} in place while autograd is watching, which raises",
}
_CURES = {
    HowLost.LOOP_VARIABLE: "with torch.no_grad(): {name}.copy_(...)",
    HowLost.DROPPED: "{name}_() changes the {what} itself",
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
    remedy="with torch.no_grad(): W -= lr * W.grad",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(LostUpdate, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
