"""Graphs are kept alive that nobody will use again.

`total_loss += loss` adds a tensor with its whole graph to the last iteration's. A chain of every iteration of the epoch
stays allocated until the sum is dropped, with all that no backward has freed. Add `loss.item()` or `loss.detach()`. An
evaluation that sums losses outside `torch.no_grad()` keeps the graphs of its whole data set. A dictionary of losses
whose items are added up or listed one by one does the same, and so does a running mean, `mean = 0.9 * mean + 0.1 *
loss`, and `losses.append(loss.item)` without the parentheses. An agent that remembers `dist.log_prob(action)` of every
step keeps the forward passes of a whole rollout; where all who read them detach them, act under `torch.no_grad()`.

`backward(retain_graph=True)` keeps what the backward needs, so that a second one can go through the same graph. Where
no second one comes it only holds the memory longer; and where it was added to silence "Trying to backward through the
graph a second time", the graph of the iteration before is still attached, and `detach()` is what is missing.
`create_graph=True` keeps even more, the graph of the gradients, which none of torch's optimizers looks at.
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


_KEPT = {
    By.SUM: "{what} keeps the graph of every iteration alive",
    By.RETAINED: "{what} keeps a graph that nothing goes through again",
    By.RECORDED: "{what} keeps the graph of a gradient that nothing goes through",
    By.CARRIED: "{what} takes the graph of the iteration before on, through which a backward() has gone already",
}
_CURES = {
    By.RETAINED: "call it without retain_graph=True",
    By.RECORDED: "call it without create_graph=True",
    By.CARRIED: "begin with what the last iteration has left, without its graph: detach() it",
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
    remedy="add loss.item() or loss.detach(); call backward() without retain_graph=True",
    fix=Fix.SAFE,
    lacks=idiom,
    asks=Question(Kept, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
    in_run="{what} keeps the graph of every iteration alive",
)
