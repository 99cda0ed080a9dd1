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

from zerograd.rules.rule import Fix, Rule, Sees, idiom
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

RULE = Rule(
    code="ZG304",
    name="update-with-grad",
    message="{what}",
    sees=Sees.SOURCE,
    remedy="update it in place: with torch.no_grad(): W -= lr * W.grad",
    fix=Fix.UNSAFE,
    lacks=idiom,
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
