"""The optimizer holds parameters that the model no longer uses.

An optimizer receives its parameters once, when it is created. Suppose a layer is replaced afterwards, or the model is
built again, loaded as a whole, or wrapped by something that creates its own parameters. The optimizer then keeps
updating the old tensors, which no longer get gradients; the new ones get gradients that no step uses; and the loss
stops falling. An optimizer copied with `deepcopy` holds copies of its parameters.

Moving a model to a device, `load_state_dict`, `torch.compile` and DistributedDataParallel keep the parameters. Moving a
tensor does not: `z = z.to("cuda")` after `Adam([z])` trains the tensor that stayed on the CPU.
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
        "{what} copies the parameters, so {optimizer} holds none of {model}",
        "create a new optimizer with the parameters of the model instead of copying one",
    ),
    Orphaning.BROUGHT: (
        "{what} loads an optimizer with its old parameters",
        "save optimizer.state_dict() and load it with optimizer.load_state_dict()",
    ),
    Orphaning.EACH_TIME: ("{what} creates a new random layer in every forward()", "create the layer in __init__"),
}


def breaks(one: Orphaned) -> Iterator[Broken]:
    """A step of parameters that no loss goes through any more."""
    names = {"what": one.what, "model": one.model, "optimizer": one.optimizer}
    names |= {"step": one.what, "held": one.model}  # of a run, which sees the step and what it holds
    related: tuple[Related, ...] = ()
    if one.made_at is not None and one.how is Orphaning.REPLACED:
        related = (Related(one.made_at, "gives the optimizer its parameters"),)
    message, cure = _SENTENCES.get(one.how, ("", ""))
    yield Broken(one.site, one.certain, names, message, cure, related=related)


RULE = Rule(
    code="ZG010",
    name="orphaned-optimizer",
    message="{what} adds parameters that {optimizer} does not hold",
    sees=Sees.SOURCE | Sees.RUN,
    severity=Severity.WARNING,
    remedy="create the optimizer after this change to the model",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Orphaned, breaks),
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
    in_run="{step} updates {held} that the model no longer uses",
)
