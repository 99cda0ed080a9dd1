"""The optimizer holds parameters that the model no longer uses.

An optimizer is handed parameters once, when it is made. If a layer is replaced afterwards, or the model is built again,
loaded as a whole or wrapped by something that makes parameters of its own, the optimizer goes on stepping the old
tensors: they get no gradient any more, the new ones get gradients that nobody consumes, and the loss stands still.
An optimizer that is copied with `deepcopy` holds copies of its parameters.

Moving a model to a device, `load_state_dict`, `torch.compile` and DistributedDataParallel keep the parameters.
Moving a tensor does not: `z = z.to("cuda")` behind `Adam([z])` trains the tensor that was left on the CPU.
"""

from collections.abc import Iterator

from zerograd.core.findings import Related, Severity
from zerograd.core.world import Orphaned, Orphaning
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
model = nn.Sequential(nn.Linear(4, 4))
model.head = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model.head = nn.Linear(4, 1)  # source: [ZG010]
for x, y in loader * 2:
    model.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()  # run: [ZG010]
"""

GOOD = """\
model = nn.Sequential(nn.Linear(4, 4))
model.head = nn.Linear(4, 2)
model.head = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader * 2:
    model.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""

_SENTENCES = {
    Orphaning.COPIED: (
        "{what} copies the parameters too: {optimizer} holds none of {model}'s",
        "make the optimizer over the model, without a copy",
    ),
    Orphaning.BROUGHT: (
        "{what} brings an optimizer that holds the parameters it was saved with, not {model}'s",
        "optimizer.load_state_dict(...) of a saved optimizer.state_dict()",
    ),
    Orphaning.EACH_TIME: (
        "{what} makes new parameters in every forward pass: no optimizer holds them, and they stay random",
        "make the layer in __init__",
    ),
}


def breaks(one: Orphaned) -> Iterator[Broken]:
    """A step of parameters that no loss goes through any more."""
    made = f"on line {one.made_at.line}" if one.made_at is not None else "by the caller"
    names = {"what": one.what, "model": one.model, "optimizer": one.optimizer, "made": made}
    related: tuple[Related, ...] = ()
    if one.made_at is not None and one.how is Orphaning.REPLACED:
        related = (Related(one.made_at, "the optimizer is given the parameters here"),)
    message, cure = _SENTENCES.get(one.how, ("", ""))
    yield Broken(one.site, one.certain, names, message, cure, related=related)


RULE = Rule(
    code="ZG010",
    name="orphaned-optimizer",
    message="{what} gives {model} parameters that {optimizer}, made {made}, does not hold",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.WARNING,
    remedy="make the optimizer after the model is complete",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Orphaned, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
    in_run="{step} holds {held} that the model no longer uses; the gradients go to {used}",
)
