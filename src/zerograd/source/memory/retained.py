"""backward(retain_graph=True) behind which nothing goes through that graph again.

A later backward goes through it again if the two losses have an ancestor in common; so does the same one, if it stands
in a loop that did not make all of its loss. Where nothing does, and nothing of the graph is left to anybody else, the
graph is kept for nobody.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.graphs.ancestry import Ancestry
from zerograd.source.graphs.incoming import KEPT
from zerograd.source.graphs.outsiders import hands_no_graph
from zerograd.source.memory.carried import carried_past
from zerograd.source.memory.escapes import is_handed_on, is_kept, is_stored, keeps_graphs_beside, returned
from zerograd.source.memory.passes import gone_through, others, share_an_object, through
from zerograd.source.memory.received import is_let_go
from zerograd.source.names.scopes import Function
from zerograd.source.text.lines import within
from zerograd.source.text.nodes import below, holds, place, written
from zerograd.source.text.paths import path_of
from zerograd.source.values.inlined import drivers_of, inline
from zerograd.source.values.reading import File, LoopNode, Reading

_NAMES = ("retain_graph", "retain_variables")  # the second until torch 0.4
_FEW, _MOST = 3, 60  # methods that call one, and of a class
_PASSES = 40  # of one function: a tangle has more


def detect(function: Reading) -> Iterator[Finding]:
    acts = function.having(Kind.DEPOSIT)
    for act in acts if len(acts) <= _PASSES else ():
        call = act.node
        if not isinstance(call, ast.Call) or not call.keywords:
            continue  # nearly all of them
        counted = _retains_until(function, call)
        certain = _keeps_for_nobody(function, call, [function.node]) if counted or _retains(call) else None
        certain = _in_drivers(function, call) if certain is False else certain
        carrier = carried_past(function, call) if certain is False and not counted else None
        if _creates_for_nobody(function, call):
            what = f"{act.what[:-1]}create_graph=True) keeps a graph that nothing uses again"
            found = note(REGISTRY["ZG402"], act.site, certain=True, what=what)
            yield found._replace(cure="call backward() without create_graph=True")
        elif carrier is not None:
            what = f"{carrier.state} carries the graphs of all earlier iterations along"
            found = note(REGISTRY["ZG402"], function.site(carrier.node), certain=True, what=what)
            yield found._replace(cure=f"start with {carrier.state} = {carrier.state}.detach(), and drop {_told(call)}")
        elif certain or (certain is False and not counted):
            what = f"{act.what[:-1]}{_told(call)}) keeps a graph that nothing uses again"
            unless = "something out of sight may use the graph again"
            found = note(REGISTRY["ZG402"], act.site, certain=certain, unless=unless, what=what)
            yield found._replace(cure=f"call backward() without {_told(call)}")


def needless_derivatives(file: File) -> Iterator[Finding]:
    """torch.autograd.grad(loss, weights, retain_graph=True), the last time that graph is gone through; in any function
    of a file, since most of those that ask for derivatives leave the step to others."""
    if not file.says("retain_graph") or not file.says("grad("):
        return
    program = file.program
    module = Reading(program.tree, program.module, program.roots.module, file)
    yield from _derivatives(module)
    for one in program.roots.functions:
        text = within(file.text, one.node)
        if "retain_graph" in text and "grad(" in text:
            block = program.function(one) if one.node in program.relevant else ()
            yield from _derivatives(Reading(one.node, block, one.scope, file))


def _derivatives(function: Reading) -> Iterator[Finding]:
    calls = [call for call in function.of(ast.Call) if _last(call) == "grad" and _retains(call)]
    for call in calls[:_FEW]:
        derives = function.scope.dotted(path_of(call.func) or "").endswith("autograd.grad")
        if derives and _keeps_for_nobody(function, call, [function.node]):
            what = f"{written(call.func)}(retain_graph=True) keeps a graph that nothing uses again"
            found = note(REGISTRY["ZG402"], function.site(call), certain=True, what=what)
            yield found._replace(cure="call it without retain_graph=True")


def _last(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else path_of(call.func) or ""


def _creates_for_nobody(function: Reading, call: ast.Call) -> bool:
    """backward(create_graph=True), and then torch's own optimizers step, which do not look at a gradient's graph."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    asked = given.get("create_graph")
    if not isinstance(asked, ast.Constant) or asked.value is not True or function.file.reads_gradients:
        return False
    if (
        any(map(function.file.says, ("essian", "higher", "hook", "getattr", "callback", "differentiable")))
        or "inputs" in given
    ):
        return False
    behind = [node for node in function.of(ast.Call) if place(node) > place(call) and not holds(call, node)]
    step = _step_behind(function, call, function.loop_around(call))
    between = [node for node in behind if step is None or place(node) < place(step)]
    if between or not _keeps_for_nobody(function, call, [function.node]):
        return False
    steps = function.having(Kind.CONSUME)
    made = [function.scope.lookup(act.slot or "") for act in steps]
    return bool(steps) and all(one is not None and one.made_by.startswith("torch.optim.") for one in made)


def _named(call: ast.Call) -> str:
    return next((keyword.arg for keyword in call.keywords if keyword.arg in _NAMES), None) or ""


def _told(call: ast.Call) -> str:
    return next((f"{one.arg}={written(one.value)}" for one in call.keywords if one.arg in _NAMES), "")


def _retains(call: ast.Call) -> bool:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    kept = given.get(_named(call))
    return "create_graph" not in given and isinstance(kept, ast.Constant) and kept.value is True


def _retains_until(function: Reading, call: ast.Call) -> bool:
    """backward(retain_graph=i < n - 1): in all rounds of a loop but the last."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    kept, loop = given.get(_named(call)), function.loop_around(call)
    if "create_graph" in given or not isinstance(kept, ast.Compare) or not isinstance(loop, ast.For):
        return False
    counted = {part.id for part in below(loop.target) if isinstance(part, ast.Name)}
    return any(isinstance(part, ast.Name) and part.id in counted for part in below(kept.left))


def _in_drivers(function: Reading, call: ast.Call) -> bool | None:
    """The same of a method whose class hands losses on in attributes: as those who call it do it, all in one text."""
    node, cls = function.node, function.scope.owner
    if cls is None or not isinstance(node, ast.FunctionDef):
        return False
    if sum(len(one.functions) for one in cls.lineage()) > _MOST or _is_called_from_outside(function, node.name):
        return False
    drivers = list(drivers_of(Function(node, function.scope), function.file))
    said: list[bool | None] = []
    for driver in drivers[:_FEW]:
        whole = inline(driver, cls, function.file)
        copies = whole.copies_of(call) if whole is not None else []
        if len(copies) > _FEW:
            return False
        said += [_keeps_for_nobody(whole.reading, copy, whole.methods) for copy in copies] if whole is not None else []
        said += [] if copies else [False]
    certain = bool(said) and len(drivers) <= _FEW and all(said)
    return None if said and all(one is None for one in said) else certain


def _is_called_from_outside(function: Reading, name: str) -> bool:
    """model.backward_G(), of an object that somebody has: what else they do with it, its own methods do not tell."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == name
        and path_of(node.func.value) != "self"
        and not isinstance(node.func.value, ast.Call)  # super()
        for node in below(function.file.program.tree)
    )


def _keeps_for_nobody(function: Reading, call: ast.Call, own: list[ast.AST]) -> bool | None:
    """True if nothing goes through the graph again, False if nothing is seen to; None if something may well. `own`: the
    functions that this text is of."""
    loop, loss = function.loop_around(call), through(call)
    step = _step_behind(function, call, loop)
    # What an earlier iteration of a loop inside made, this backward and none after it goes through.
    ancestry = Ancestry(function, turns=[one for one in function.loops if holds(one, call)])
    mine = ancestry.of(loss) if loss is not None else frozenset({KEPT})
    plain = {one for one in mine if isinstance(one, str) and one != KEPT and hands_no_graph(function, one)}
    mine -= plain
    certain = bool(mine) and all(isinstance(one, ast.AST) for one in mine) and _is_repeated(function)
    certain = certain and not _is_mapped(function, call) and not keeps_graphs_beside(function)
    certain = certain and not function.file.says("register_forward_")  # a hook may have any of it
    kept = is_stored(function, ancestry, mine)
    gone = [node for node in function.of(ast.Delete) if place(node) > place(call)]
    deleted = {path_of(target) for node in gone for target in node.targets}
    if loss is not None and path_of(loss) in deleted:
        return None  # and with it the graph
    if loop is not None and any(isinstance(one, ast.AST) and not holds(loop, one) for one in mine):
        certain = False  # the next iteration goes through what was made before the loop
    for other in others(function, call):
        theirs = gone_through(ancestry, other)
        behind = place(other) > place(call) and not function.excludes(call, other)
        if behind and (theirs is None or theirs & mine - {KEPT}):
            return None
        # What seems to be made of nothing cannot be read.
        certain = certain and bool(theirs) and (KEPT not in (theirs or ()) or not ((theirs or mine) & mine or kept))
        certain = certain and not share_an_object(function, mine, theirs or mine)
    if not certain or is_kept(function, ancestry, mine, own) or is_handed_on(function, ancestry, mine, call):
        return False
    back = returned(function, ancestry, mine, step, call)
    return not back or is_let_go(function, back)


def _is_mapped(function: Reading, call: ast.Call) -> bool:
    """[loss.backward(retain_graph=True) for loss in losses]: a loop, or who knows how often."""
    kinds = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp, ast.Lambda)
    return any(holds(node, call) for node in below(function.node) if isinstance(node, kinds))


def _is_repeated(function: Reading) -> bool:
    """Whether this may be done again and again: a test's one backward, or one at the top of a file that never steps,
    keeps its graph for a moment."""
    name = getattr(function.node, "name", "")
    return bool(name or function.file.says(".step(")) and not name.startswith("test")


def _step_behind(function: Reading, call: ast.Call, loop: LoopNode | None) -> ast.AST | None:
    """The first step that changes weights behind a backward: no graph through them is of use any more."""
    steps = [act.node for act in function.having(Kind.CONSUME) if act.node is not None]
    behind = [node for node in steps if place(node) > place(call) and not function.excludes(call, node)]
    return min((node for node in behind if loop is None or holds(loop, node)), key=place, default=None)
