"""Graphs stay in memory that nothing will use again.

`total_loss += loss` adds a tensor together with its graph. The graphs of all iterations stay in memory until the sum is
dropped. Use `loss.item()` or `loss.detach()`. An evaluation that sums losses outside `torch.no_grad()` keeps the graphs
of its whole data set. The same goes for a dictionary or a list of losses, for a running mean such as `mean = 0.9 * mean
+ 0.1 * loss`, and for `losses.append(loss.item)` without the parentheses. An agent that stores `dist.log_prob(action)`
of every step keeps the forward passes of a whole rollout; if every reader detaches them, act under `torch.no_grad()`.

`backward(retain_graph=True)` keeps the graph for a second backward. If there is none, it only holds memory longer. If
it was added to silence "Trying to backward through the graph a second time", the graph of the previous iteration is
still attached, and a `detach()` is missing. `create_graph=True` keeps even more: the graph of the gradients, which none
of torch's optimizers uses.
"""

from collections.abc import Iterator

from zerograd.core.findings import Severity
from zerograd.core.world import By, Kept
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
total = 0.0
for x, y in loader * 5:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss  # error: [ZG402]
print(total / len(loader))
"""

GOOD = """\
total = 0.0
for x, y in loader * 5:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss.detach()
print(total / len(loader))
"""


DROP = "call backward() without retain_graph=True"
_KEPT = {
    By.SUM: "{what} keeps the graphs of all iterations",
    By.RETAINED: "{what} keeps a graph that nothing uses again",
    By.RECORDED: "{what} keeps the graph of the gradients, which nothing uses",
    By.CARRIED: "{what} goes on from the graph of the previous iteration, whose backward() has run",
}
_CURES = {
    By.RETAINED: DROP,
    By.RECORDED: "call it without create_graph=True",
    By.CARRIED: "detach() what the previous iteration has left, before you use it",
}


def breaks(kept: Kept) -> Iterator[Broken]:
    """A graph that outlives its iteration. Where a backward has freed what it had saved, it costs little; so does one
    that is kept for a moment."""
    severity = Severity.NOTE if kept.freed or kept.by is By.RETAINED else None
    names = {"what": kept.what}
    yield Broken(kept.site, kept.certain, names, _KEPT[kept.by], _CURES.get(kept.by, ""), severity)


RULE = Rule(
    code="ZG402",
    name="retained-graph",
    message="{what}",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.WARNING,
    remedy="keep loss.detach() instead of the loss",
    fix=Fix.SAFE,
    lacks=idiom,
    asks=Question(Kept, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
    in_run="{what}",
)
