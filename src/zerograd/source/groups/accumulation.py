"""Accumulation that does not add up: idioms of the loop around a step.

A window is a loop in which the backward stands outside a counter's guard and the step inside it (guarded.py), or an
inner loop of backwards between two steps.
"""

import ast
from collections.abc import Callable, Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.counters import ACCUMULATION
from zerograd.source.counting.losses import Losses, loss_of
from zerograd.source.groups import helped
from zerograd.source.groups.beginnings import begins_later
from zerograd.source.groups.each import divides_itself, every_micro_batch, is_split
from zerograd.source.groups.running import divided_by_counter
from zerograd.source.lowering.guarded import Window, acts_in, guarded_windows
from zerograd.source.lowering.skeleton import Act, Block, Blur, Choice, Loop, blocks_of, walk
from zerograd.source.lowering.unfolding import BodyOf, Unfolded, everything, waits_for_others
from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import Nodes, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import saying
from zerograd.source.values.reading import Reading

_CYCLE = {Kind.DEPOSIT, Kind.CONSUME, Kind.CLEAR}
_FOR = (ast.For, ast.AsyncFor)
_TASKS = pattern(r"meta|task|episode")
_of_gradients = saying(r"grad")
_INVERTED = "the test is inverted: it steps at every micro-batch except the last of {size}"
_OVER = "the test makes groups of {size} + 1, one micro-batch too many"
_LATE = "the test makes the first group one micro-batch longer than {size}"


def detect(function: Reading) -> Iterator[Finding]:
    """What is wrong with the accumulation of one function."""
    block, nodes, scope, program = function.block, function.nodes, function.scope, function.file.program
    losses = Losses(nodes, scope)
    configured = _configured(nodes) if function.file.says("gradient_accumulation_steps") else None
    asks = any(choice.guard is not None for choice in function.parts(Choice))
    windows = list(guarded_windows(block)) if asks else []
    engines = _told_by_engines(nodes, {window.guard.size for window in windows})
    attached = function.file.attached if windows else frozenset[str]()  # an engine of its own averages what it steps on
    for window in windows:
        if window.guard.size not in engines and attached.isdisjoint(act.slot or "" for act in window.stepped):
            if not window.rescales and _may_rescale(window.loop.body, program.body_of):
                window = window._replace(rescales=True)
            yield from _judge_window(window, losses)
            yield from divided_by_counter(window, losses)
    if asks and not windows and waits_for_others(block):
        unfolded = Unfolded(block, scope.owner, program.body_of, program.nodes)
        for window in guarded_windows(unfolded.block):
            yield from _judge_window(window, losses, unfolded)
    if any(map(_size_of, function.parts(Loop))):
        yield from _inner_loops(block, losses, program.body_of)
    if {act.kind for act in function.acts} >= _CYCLE:
        yield from every_micro_batch(block, losses, configured)
    if not asks and is_split(block, scope):
        apart = Unfolded(block, scope.owner, program.body_of, program.nodes)
        yield from every_micro_batch(apart.block, losses, None, apart) if not apart.may_leave else ()
    told = _told_by_class(scope.owner, nodes, program.nodes) if not configured and scope.owner is not None else None
    if configured or told is not None:
        yield from _divided_twice(block, losses, told)
    if configured:
        yield from helped.detect(function, losses, configured)


def _told_by_engines(nodes: Nodes, sizes: set[str]) -> set[str]:
    """Those that are read from DeepSpeed's config: its engine accumulates by itself, the step in sight does nothing."""
    return {
        path
        for node in (nodes.of(ast.Assign) if sizes else ())
        for target in node.targets
        if (path := path_of(target)) in sizes and "deepspeed" in written(node.value)
    }


def _judge_window(window: Window, losses: Losses, unfolded: Unfolded | None = None) -> Iterator[Finding]:
    guard, site = window.guard, window.choice.site
    if site is None or not (window.clears or guard.accumulates):
        return
    if window.inverted:
        found = note(REGISTRY["ZG103"], site, certain=True, test="", first="", size=guard.size)
        yield found._replace(message=_INVERTED.format(size=guard.size))
        return
    if window.stepped_outside:
        why = f"the test on line {site.line} waits for {guard.size}"
        for act in window.stepped_outside:
            yield note(REGISTRY["ZG106"], act.site, certain=guard.accumulates, step=act.what, why=why)
        return
    exact = window.shared or any(begins_later(window.loop.node, act.node) for act in window.deposits)
    phase = guard.begun if guard.phase is None else guard.phase
    if phase is not None and phase != -1 and not guard.conjoined and not exact:
        first = str(phase + 1) if phase >= 0 else f"{guard.size} - {-phase - 1}"
        yield note(REGISTRY["ZG103"], site, certain=True, test="the test", first=first, size=guard.size)
    if guard.over and not exact and not window.rescales:
        found = note(REGISTRY["ZG103"], site, certain=True, test="", first="", size=guard.size)
        yield found._replace(message=_OVER.format(size=guard.size))
    # Where the step stands first, or what was added up is divided by its number, the first group is as good as any.
    behind = all(act.site is not None and act.site.line > site.line for act in window.deposits)
    if guard.late and not exact and not behind and not window.rescales:
        found = note(REGISTRY["ZG103"], site, certain=True, test="", first="", size=guard.size)
        yield found._replace(message=_LATE.format(size=guard.size))
    endless = window.loop.endless or isinstance(window.loop.node, ast.While)
    if not guard.tail and not endless and not window.stepped_after:
        # A counter that came from elsewhere may go on in the next epoch: its group does.
        unless = "the counter comes from outside, so the group may continue in the next epoch"
        yield note(REGISTRY["ZG102"], site, certain=guard.phase is not None, unless=unless, size=guard.size)
    if not window.rescales:
        for act in window.deposits:
            # A meta-learner's objective is the sum over its tasks.
            its = unfolded.losses(act, losses) if unfolded is not None else losses
            yield from _unnormalised(act, its, guard.size, certain=not _TASKS.search(guard.size.lower()))


def _unnormalised(act: Act, losses: Losses, size: str, *, certain: bool) -> Iterator[Finding]:
    if not isinstance(act.node, ast.Call) or divides_itself(act.node, losses):
        return
    loss = loss_of(act.node)
    plain = not losses.may_be_normalised(loss) and not _is_engine(act.node)
    if plain or not losses.may_be_normalised(loss, handed=False):
        unless = "the sum may be intended" if plain else "the caller may have divided the loss already"
        certain = certain and plain
        yield note(REGISTRY["ZG101"], act.site, certain=certain, unless=unless, deposit=act.what, size=size)


def _is_engine(call: ast.Call) -> bool:
    """booster.backward(loss, optimizer): who is handed the optimizer as well may divide by what it knows."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any("optim" in (path_of(one) or "") for one in given)


def _inner_loops(block: Block, losses: Losses, body_of: BodyOf) -> Iterator[Finding]:
    """for micro_step in range(N): backward, then one step behind the loop."""
    for position, node in enumerate(block):
        size = _size_of(node) if isinstance(node, Loop) else None
        if size and isinstance(node, Loop) and not losses.is_one(size):
            inside = acts_in(node.body)
            kinds = {act.kind for act in inside}
            if Kind.DEPOSIT in kinds and not kinds & {Kind.CONSUME, Kind.CLEAR, Kind.RESCALE}:
                before, later = _kinds(block[:position], body_of), _kinds(block[position + 1 :], body_of)
                # A whole group: it starts from a clear or ends in a step.
                whole = Kind.CONSUME in later or (Kind.CLEAR in before and not _rescales(losses.owner, body_of))
                for act in (act for act in inside if act.kind is Kind.DEPOSIT and Kind.RESCALE not in later):
                    yield from _unnormalised(act, losses, size, certain=whole)
        for inner in blocks_of(node):
            yield from _inner_loops(inner, losses, body_of)


def _rescales(cls: Scope | None, body_of: BodyOf) -> bool:
    """Whether a method of the class rescales gradients: who takes the step may have done it before."""
    methods = cls.functions.values() if cls is not None else ()
    return any(isinstance(node, Act) and node.kind is Kind.RESCALE for one in methods for node in walk(body_of(one)))


def _may_rescale(block: Block, body_of: BodyOf) -> bool:
    """Whether gradients are rescaled in a block, or by what it calls: average_grads(model, N). Or by a function that is
    named for them, and that nobody can read."""
    return any(
        node.kind is Kind.RESCALE if isinstance(node, Act) else isinstance(node, Blur) and _of_gradients(node.what)
        for node in everything(block, body_of)
    )


def _kinds(block: Block, body_of: BodyOf) -> set[Kind]:
    """What happens in a block and in what it calls."""
    return {node.kind for node in everything(block, body_of) if isinstance(node, Act)}


def _size_of(loop: Loop) -> str | None:
    return _named_size(loop.node.iter) if isinstance(loop.node, _FOR) else None


def _named_size(over: ast.expr) -> str | None:
    """N of `range(N)` and of `x.chunk(N)`, if it is named for accumulation."""
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id in ("zip", "enumerate"):
        return next((size for one in over.args if (size := _named_size(one)) is not None), None)
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr == "chunk" and over.args:
        size = written(over.args[0 if path_of(over.func.value) != "torch" else -1])  # torch.chunk(x, n), x.chunk(n)
        return size if ACCUMULATION.search(size.lower()) else None
    if isinstance(over, ast.Call) and (path_of(over.func) or "").endswith(("range", "trange")) and over.args:
        size = written(over.args[-1] if len(over.args) == 3 else over.args[0])
        return size if ACCUMULATION.search(size.lower()) else None
    return None


def _divided_twice(block: Block, losses: Losses, told: tuple[str, str] | None) -> Iterator[Finding]:
    """`told`: the accelerator that the class has told, and of how many; the loss must be divided by the same."""
    for act in (node for node in walk(block) if isinstance(node, Act) and node.kind is Kind.DEPOSIT):
        if isinstance(act.node, ast.Call) and divides_itself(act.node, losses):
            by = losses.divided_by(loss_of(act.node), ACCUMULATION)
            receiver = path_of(act.node.func.value) if isinstance(act.node.func, ast.Attribute) else None
            same = told is None or (receiver == told[0] and (by or "").rpartition(".")[2] == told[1].rpartition(".")[2])
            if by is not None and same and not losses.is_one(by):
                yield note(REGISTRY["ZG105"], act.site, certain=True, deposit=act.what, size=by)


def _configured(nodes: Nodes) -> str | None:
    """N of `Accelerator(gradient_accumulation_steps=N)`, if this function makes one and N is not 1."""
    if not any(keyword.arg == "gradient_accumulation_steps" for keyword in nodes.of(ast.keyword)):
        return None
    sizes = (_size_told(call) for call in nodes.of(ast.Call) if _makes_accelerator(call))
    size = next((size for size in sizes if size is not None), None)
    return None if size == "1" else size


def _makes_accelerator(call: ast.Call) -> bool:
    return (path_of(call.func) or "").endswith("Accelerator")


def _size_told(call: ast.Call) -> str | None:
    told = (keyword.value for keyword in call.keywords if keyword.arg == "gradient_accumulation_steps")
    return next(map(written, told), None)


def _told_by_class(owner: Scope, nodes: Nodes, nodes_of: Callable[[ast.AST], Nodes]) -> tuple[str, str] | None:
    """The one accelerator that a class makes for itself, and the number that it is told, if no branch here asks for
    either."""
    if not any("accelerator" in (path_of(call.func) or "") for call in nodes.of(ast.Call)) or any(
        "accelerator" in written(node.test) and ".sync_gradients" not in written(node.test) for node in nodes.of(ast.If)
    ):
        return None
    if not any(_divides_by_name(node) for node in nodes.of(ast.BinOp)):
        return None
    methods = [method for cls in owner.lineage() for method in cls.functions.values()]
    assigned = [node for method in methods for node in nodes_of(method.node).of(ast.Assign)]
    made = [(path_of(node.targets[0]) or "", node.value) for node in assigned]
    told = [(name, call) for name, call in made if isinstance(call, ast.Call) and _makes_accelerator(call)]
    if len(told) != 1 or sum(name == told[0][0] for name, _ in made) != 1:
        return None
    size = _size_told(told[0][1])
    return (told[0][0], size) if size is not None and ACCUMULATION.search(size.lower()) and " if " not in size else None


def _divides_by_name(node: ast.BinOp) -> bool:
    return isinstance(node.op, ast.Div) and ACCUMULATION.search(written(node.right).lower()) is not None
