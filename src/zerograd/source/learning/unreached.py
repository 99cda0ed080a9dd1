"""Optimizers that step every time with nothing: no loss in front of them goes through a module that they hold.

A network that is called only where autograd looks away, or whose output is always detached, gets no gradient, however
much of it stands in the loss; nor does one that the loop never mentions, which trains another.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind, Site
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.losses import loss_of
from zerograd.source.graphs.ancestry import Ancestry
from zerograd.source.graphs.incoming import KEPT, NONE
from zerograd.source.graphs.leaves import Ancestors
from zerograd.source.graphs.quiet import quiet_parts
from zerograd.source.learning.idle import is_idle
from zerograd.source.lowering.skeleton import Act, Call
from zerograd.source.names.opaque import makes_object
from zerograd.source.text.nodes import below, holds
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import CUTS, MODULES
from zerograd.source.values.apart import is_made_apart, overlap
from zerograd.source.values.bonds import Bonds
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.holdings import held_by
from zerograd.source.values.reading import LoopNode, Reading

_MOVES = MODULES | {"cuda", "to", "half", "float", "load_state_dict", "requires_grad_"}
_WITHOUT = MODULES | CUTS | {"optimizer", "optim", "opt"}  # what is asked of a module without a forward pass
_FEW = 24  # steps that are looked at in one function
_TOLD = frozenset({"parameters", "state_dict"})  # and nothing of theirs is the module itself


def detect(function: Reading) -> Iterator[Finding]:
    file = function.file
    several = file.program.has_several
    calls = [one for one in function.parts(Call) if file.program.body_of(one.function)]
    cuts = any(file.says(word) for word in ("no_grad", ".detach()"))
    hidden: dict[frozenset[str], bool] = {}  # many steps may be of one module
    ancestry: Ancestry | None = None
    bonds: Bonds | None = None
    for act in function.having(Kind.CONSUME)[:_FEW]:
        loop = _outermost(function, act)
        if any(loop is None or one.site is None or _stands_in(one.site, loop) for one in calls):
            continue  # who deposits elsewhere may reach everything
        modules = held_by(act.slot or "", function, act.node)
        if modules not in hidden:
            hidden[modules] = several and bool(modules) and cuts and _is_out_of_sight(function, modules)
        idle = not hidden[modules] and is_idle(function, modules)
        unnamed = not hidden[modules] and loop is not None and _is_unnamed(function, modules, loop)
        apart = unnamed and (several or all(is_made_apart(module, function) for module in modules))
        severed = several and cuts and loop is not None and _is_severed(function, modules, loop)
        if not apart and not idle and not hidden[modules] and not severed:
            continue  # of the only optimizer there is, most likely what it holds is brought in unseen
        deposits = in_front(function, act)
        bonds = bonds or (Bonds(function) if deposits else None)
        if bonds is None or not deposits or bonds.are_handed_out(modules) or _are_taken(function, modules):
            continue  # what a loss goes through takes longer to find
        ancestry, known = ancestry or Ancestry(function), frozenset({KEPT}) if unnamed else NONE
        behind = [ancestry.of(loss_of(one) or one) - known for one in deposits]
        if (
            unnamed
            and not (several and _is_left_out(function, modules))
            and not all(_are_others(function, one, modules) for one in behind)
        ):
            continue
        if not all(_passes_by(function, one, modules) for one in behind):
            continue
        if _are_apart(behind, modules, bonds):
            certain = all(is_made_apart(module, function) for module in modules)
            found = note(REGISTRY["ZG003"], act.site, certain=certain, step=act.what)
            names = " and ".join(sorted(modules))
            yield found._replace(
                message=f"{act.what} has nothing to consume: no loss in front of it goes through {names}",
                cure=f"compute the loss with {names}, or give this optimizer the parameters that are trained here",
            )


def in_front(function: Reading, step: Act) -> list[ast.Call]:
    """The backwards between the step and the clear of its own optimizer before it, if they stand on one path; where it
    clears behind the step, those of an iteration."""
    at = function.acts.index(step)
    begun = [place for place, act in enumerate(function.acts) if act.kind is Kind.CLEAR and act.slot == step.slot]
    before = [place for place in begun if place < at]
    loop = function.loop_around(step.node) if step.node is not None else None
    if not begun or step.node is None or not (before or loop):
        return []
    first, clear = (before[-1], before[-1]) if before else (0, begun[0])
    deposits = [act.node for act in function.acts[first:at] if act.kind is Kind.DEPOSIT]
    nodes = [node for node in (function.acts[clear].node, *deposits) if node is not None]
    one_path = all(
        function.loop_around(node) is loop and function.arms(node) <= function.arms(step.node) for node in nodes
    )
    found = [node for node in deposits if isinstance(node, ast.Call)]
    return found if one_path and len(nodes) == len(found) + 1 else []


def _passes_by(function: Reading, ancestors: Ancestors, modules: frozenset[str]) -> bool:
    """Whether everything that a loss goes through is known, and none of it is these modules."""
    calls = [one for one in ancestors if isinstance(one, ast.Call)]
    if not calls or len(calls) != len(ancestors):
        return False
    if any(hides(function, call, modules) for call in calls):
        return False
    return not any(overlap(frozenset({path}), modules) for call in calls for path in paths_in(call))


def _are_apart(behind: list[Ancestors], modules: frozenset[str], bonds: Bonds) -> bool:
    """Whether nothing that the losses go through has one of these modules inside it, or is inside one."""
    called = {
        (path_of(one.func) or "").partition(".")[0] for each in behind for one in each if isinstance(one, ast.Call)
    }
    return not any(bonds.are_bound(root, modules) for root in called - {"self"})


def _are_taken(function: Reading, modules: frozenset[str]) -> bool:
    """Whether a class of the file takes one of them from around itself."""
    nodes = below(function.file.program.tree) if function.file.says("class ") else []
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    methods = [node for cls in classes for node in cls.body if isinstance(node, ast.FunctionDef)]
    for method in methods:
        names = [part for part in below(method) if isinstance(part, ast.Name) and part.id in modules]
        own = {one.arg for one in below(method.args) if isinstance(one, ast.arg)}
        own |= {part.id for part in names if isinstance(part.ctx, ast.Store)}
        if any(part.id not in own for part in names):
            return True
    return False


def hides(function: Reading, call: ast.Call, modules: frozenset[str]) -> bool:
    """Whether a call runs a method or a function, rather than a module, that may go through these modules itself."""
    path, cls = path_of(call.func) or "", function.scope.owner
    called = function.scope.function(path)
    if called is None:
        kept = cls is not None and any(path in one.assigned for one in cls.lineage())
        return path.startswith("self.") and path.count(".") == 1 and not kept
    nodes = function.file.program.nodes(called.node)
    names = {node.id for node in nodes.of(ast.Name)} | {node.attr for node in nodes.of(ast.Attribute)}
    further = any(called.scope.function(path_of(node.func) or "") is not None for node in nodes.of(ast.Call))
    return further or any(module.removesuffix("[*]").rpartition(".")[2] in names for module in modules)


def _outermost(function: Reading, act: Act) -> LoopNode | None:
    around = [loop for loop in function.loops if act.node is not None and holds(loop, act.node)]
    return min(around, key=lambda loop: loop.lineno) if around else None


def _stands_in(site: Site, loop: LoopNode) -> bool:
    return loop.lineno <= site.line <= (loop.end_lineno or loop.lineno)


def _is_unnamed(function: Reading, modules: frozenset[str], loop: LoopNode) -> bool:
    """opt = Adam(model.parameters()), and a loop that trains another: names of this function that it never mentions.
    What a model computed before the loop would go backward once, and not again."""
    if not modules or not all(map(str.isidentifier, modules)):
        return False
    again = any(keyword.arg == "retain_graph" and holds(loop, keyword.value) for keyword in function.of(ast.keyword))
    return not again and not any(node.id in modules and holds(loop, node) for node in function.of(ast.Name))


def _is_left_out(function: Reading, modules: frozenset[str]) -> bool:
    """Whether nobody has the modules who could bring them into a loss."""
    if _reads_from_inside(function, modules):
        return False
    uses = [node for node in function.of(ast.Name) if node.id in modules and isinstance(node.ctx, ast.Load)]
    alone = _left_alone(function)
    return all(id(node) in alone for node in uses)


def _are_others(function: Reading, ancestors: Ancestors, modules: frozenset[str]) -> bool:
    """Whether a loss goes through modules alone that are seen to be made, and not of these; and through functions that
    are handed what they work with."""
    called = [_run_by(one) for one in ancestors if isinstance(one, ast.Call)]
    known = function.scope.module.imports
    return len(called) == len(ancestors) and all(
        path.partition(".")[0] in known
        or _is_another(function, path.partition(".")[0], modules)
        or function.scope.function(path)
        for path in called
    )


def _run_by(call: ast.Call) -> str:
    """What is called; of nn.MSELoss()(a, b), what makes it."""
    made = call.func.func if isinstance(call.func, ast.Call) else call.func
    return path_of(made) or "?"


def _is_another(function: Reading, path: str, modules: frozenset[str]) -> bool:
    """Whether a module is made of others than these, and is not seen to be brought together with them."""
    made = [one.value for one in definitions_of(function).every(path) if not _moves(one.value, path)]
    calls = [call for call in function.of(ast.Call) if getattr(call.func, "attr", "") != "load_state_dict"]
    named = [{part.id for part in below(call) if isinstance(part, ast.Name)} for call in calls]
    together = any(path in names and not names.isdisjoint(modules) for names in named)
    of_them = any(isinstance(part, ast.Name) and part.id in modules for value in made for part in below(value))
    return bool(made) and all(map(makes_object, made)) and not together and not of_them


def _moves(value: ast.expr, path: str) -> bool:
    """model = model.to(device)"""
    func = value.func if isinstance(value, ast.Call) else None
    return isinstance(func, ast.Attribute) and path_of(func.value) == path and func.attr in _MOVES


def _reads_from_inside(function: Reading, modules: frozenset[str]) -> bool:
    """Whether something that runs later knows the modules by their names: a function, a lambda, a class."""
    inner: list[ast.AST] = [*function.of(ast.Lambda), *function.of(ast.ClassDef), *function.of(ast.GeneratorExp)]
    for node in function.of(ast.FunctionDef):
        own = {argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
        inner += [node] if modules - own else node.args.defaults
    return any(isinstance(part, ast.Name) and part.id in modules for one in inner for part in below(one))


def _left_alone(function: Reading) -> set[int]:
    """The names of which nothing is kept: model(x), model.parameters(), and on lines of their own model.cuda()."""
    bare = {id(node.value) for node in function.of(ast.Expr)}
    found: set[int] = set()
    for call in function.of(ast.Call):
        match call:
            case ast.Call(func=ast.Name() as model):
                found.add(id(model))
            case ast.Call(func=ast.Attribute(value=ast.Name() as model, attr=attr)):
                if attr in _TOLD or (attr in _MOVES and id(call) in bare):
                    found.add(id(model))
            case _:
                pass
        if (path_of(call.func) or "").rpartition(".")[2] == "deepcopy":
            found |= {id(one) for one in call.args}
    return found


def paths_in(node: ast.AST) -> Iterator[str]:
    """The paths that are named, as far as they go."""
    parts = [part for part in below(node) if isinstance(part, ast.Name | ast.Attribute | ast.Subscript)]
    inner = {id(part.value) for part in parts if not isinstance(part, ast.Name)}
    yield from (path for part in parts if id(part) not in inner and (path := path_of(part)) not in (None, "self"))


def _is_severed(function: Reading, modules: frozenset[str], loop: LoopNode) -> bool:
    """fake = generator(noise), and somewhere else fake.detach(): whether every loss did so is told by what it is made
    of."""
    outputs = {
        path_of(node.targets[0])
        for node in function.of(ast.Assign)
        if isinstance(node.value, ast.Call) and path_of(node.value.func) in modules and holds(loop, node)
    }
    cut = (one for one in function.of(ast.Attribute) if one.attr == "detach" and holds(loop, one))
    return bool(outputs) and any(path_of(one.value) in outputs for one in cut)


def _is_out_of_sight(function: Reading, modules: frozenset[str]) -> bool:
    """Whether the modules are called at all, and always where autograd looks away or what they return is detached; and
    nothing else is done with them here that could bring their weights into a loss."""
    calls, roots = function.of(ast.Call), {one.partition(".")[0] for one in modules}
    called = [path for call in calls if (path := path_of(call.func) or "").partition(".")[0] in roots]
    if not any(
        overlap(frozenset({path.removesuffix(".forward")}), modules) and path.rpartition(".")[2] not in MODULES
        for path in called
    ):
        return False
    used: list[ast.expr] = [node for node in function.of(ast.Name) if node.id in modules]
    if not all(map(str.isidentifier, modules)):
        used += [node for node in function.of(ast.Attribute) if path_of(node) in modules]
        used += [node for node in function.of(ast.Subscript) if path_of(node) in modules]
    harmless = {id(node.value) for node in function.of(ast.Attribute) if node.attr in _WITHOUT}
    blind = [part for part in quiet_parts(function) if part is not function.node]
    blind += [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "detach"]
    return all(id(node) in harmless or any(holds(block, node) for block in blind) for node in used)
