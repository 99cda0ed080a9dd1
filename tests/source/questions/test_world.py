"""An executed root answers as a run would: who holds what, what a backward reaches, what a clear empties."""

from source.execute.reading import MADE
from zerograd.core.events import Event, Kind
from zerograd.core.world import Region, World
from zerograd.source.check import laws
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.roots import execute_all
from zerograd.source.heap.objects import Obj, ObjectKind
from zerograd.source.project.files import Project
from zerograd.source.questions.world import SourceWorld

BODY = """
other = nn.Linear(4, 1)
for x, y in loader:
    optimizer.zero_grad()
    F.mse_loss(model(x), other(x)).backward()
    optimizer.step()
"""


def executed() -> Execution:
    project = Project()
    return next(execute_all(project, project.open("program.py", MADE + BODY), laws())).execution


def of_kind(ex: Execution, kind: ObjectKind) -> list[Obj]:
    return [obj for obj in ex.heap.all() if obj.kind is kind]


def test_who_holds_what_and_what_is_reached() -> None:
    ex = executed()
    world: World = SourceWorld(ex)
    (optimizer,) = of_kind(ex, ObjectKind.OPTIMIZER)
    model, other = (Region(obj.number) for obj in of_kind(ex, ObjectKind.MODULE))
    assert world.held(optimizer.number, Event(Kind.CONSUME)).sure == {model}
    (site,) = ex.deposits
    assert world.reached(Event(Kind.DEPOSIT, site=site)).sure == {model, other}
    (site,) = ex.cleared
    assert world.cleared(Event(Kind.CLEAR, site=site)).may == {model}
    assert world.reached(Event(Kind.DEPOSIT)).may == frozenset()
