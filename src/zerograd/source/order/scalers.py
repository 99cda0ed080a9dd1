"""A gradient scaler that is not told when to move its scale, is told too often, or is made anew each time."""

import ast
import re
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.calls import site_of
from zerograd.source.lowering.guarded import Window, guarded_windows
from zerograd.source.lowering.skeleton import Act, Call, Loop
from zerograd.source.names.roles import makes_optimizer
from zerograd.source.names.scopes import Function
from zerograd.source.text.nodes import below, holds, place, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.few import counts_to_few
from zerograd.source.values.reading import Reading

_EPOCH = pattern(r"(^|_)epoch(_?(i|idx|index|num|id))?$|^ep$")
# range(1, args.num_epochs + 1); of clients_per_epoch each is another training.
_EPOCHS = pattern(
    r"^\w*range\(([^,]+, )?([\w.\[\]'\"]*\W)?(\w*epochs|(n|nb|num|max|total)_?epoch)['\"\]]*( \+ 1)?\)$", re.IGNORECASE
)
_PLAIN = ("scale", "step", "update", "unscale_")


def detect(function: Reading) -> Iterator[Finding]:
    if function.file.says("scaler"):
        yield from _never_updated(function)
        yield from _updated_early(function)
        yield from _made_each_time(function)
        yield from _made_each_call(function)


def _never_updated(function: Reading) -> Iterator[Finding]:
    """scaler.step(optimizer) in a file that never updates that scaler."""
    for act in function.having(Kind.CONSUME):
        scaler = _scaler_of(act)
        if scaler and scaler.rpartition(".")[2] not in function.file.updated:
            # `scaler.update` without its parentheses
            certain = not _is_updated_elsewhere(function, scaler) or f"{scaler}.update" in _bare(function)
            what = f"{act.what} is called, and {scaler}.update() never is"
            yield note(REGISTRY["ZG203"], act.site, certain=certain, what=what)


def _is_updated_elsewhere(function: Reading, scaler: str) -> bool:
    """Whether it is handed on; or handed in, by a file that has the loop; or one beside says `self.scaler.update()`."""
    file = function.file
    if scaler in function.scope.parameters and not file.says("backward("):
        return True
    if file.scaler_leaves or "." not in scaler:
        return file.scaler_leaves
    updates = f".{scaler.rpartition('.')[2]}.update("
    return file.beside is None or any(updates in text for text in file.beside)


def _bare(function: Reading) -> set[str | None]:
    return {path_of(node.value) for node in function.of(ast.Expr)}


def _updated_early(function: Reading) -> Iterator[Finding]:
    """scaler.update() in every micro-batch, with scaler.step() in the last one of the group."""
    updates = [call for call in function.of(ast.Call) if (path_of(call.func) or "").endswith(".update")]
    for window in guarded_windows(function.block) if updates else ():
        for call in updates:
            scaler = (path_of(call.func) or "").removesuffix(".update")
            steps = [act for act in function.having(Kind.CONSUME) if _scaler_of(act) == scaler]
            in_loop = function.loop_around(call) is window.loop.node
            if in_loop and any(act in window.stepped for act in steps) and _waits(function, steps, call, window):
                what = (
                    f"{scaler}.update() moves the scale in every micro-batch, while {steps[0].what} waits for the group"
                )
                yield note(REGISTRY["ZG203"], function.site(call), certain=not call.args, what=what)


def _made_each_time(function: Reading) -> Iterator[Finding]:
    """scaler = GradScaler() in the very loop that steps with it: whatever update() finds out is thrown away."""
    for node in function.of(ast.Assign):
        match node.value:
            case ast.Call(func=func) if (path_of(func) or "").endswith("GradScaler"):
                scaler, loop = path_of(node.targets[0]), function.loop_around(node)
                steps = [act.node for act in function.having(Kind.CONSUME) if _scaler_of(act) == scaler]
                inside = [step for step in steps if step is not None and function.loop_around(step) is loop]
                always = any(function.arms(node) <= function.arms(step) for step in inside)
                if loop is not None and always and not counts_to_few(loop, function) and not _begins(function, loop):
                    what = f"{written(node)} makes a new scaler in every iteration: the scale is never moved"
                    found = note(REGISTRY["ZG203"], function.site(node), certain=True, what=what)
                    yield found._replace(cure="make the scaler once, before the loop")


def _made_each_call(function: Reading) -> Iterator[Finding]:
    """def optimize_parameters(self): scaler = GradScaler(); one step; and the next call makes another."""
    node = function.node
    if not isinstance(node, ast.FunctionDef) or node.name.startswith(("test", "main")):
        return
    for made in function.of(ast.Assign):
        match made:
            case ast.Assign(targets=[ast.Name(id=scaler)], value=ast.Call(func=func, keywords=keywords)):
                if not (path_of(func) or "").endswith("GradScaler") or function.arms(made):
                    continue
                steps = [act for act in function.having(Kind.CONSUME) if _scaler_of(act) == scaler]
                usual = all(_is_usual(one) or _is_number(one) for one in keywords)
                around = {function.loop_around(one) for one in (made, *(act.node for act in steps)) if one is not None}
                if (
                    steps
                    and usual
                    and around == {None}
                    and _is_told(function, steps)
                    and not _is_kept(function, scaler)
                ):
                    what = f"{written(made)} makes a new scaler in every call: the scale is never moved"
                    found = note(REGISTRY["ZG203"], function.site(made), certain=True, what=what)
                    yield found._replace(cure="make the scaler once, where the optimizer is made, and keep it")


def _is_told(function: Reading, steps: list[Act]) -> bool:
    """Whether the optimizers are an object's own, and it is told to step again and again: not made here."""
    slots = {act.slot or "" for act in steps}
    stored = {path_of(target) for one in function.of(ast.Assign) for target in one.targets}
    own = all(slot.startswith("self.") or slot in function.scope.parameters for slot in slots)
    return own and stored.isdisjoint(slots)


def _is_number(keyword: ast.keyword) -> bool:
    """init_scale=2.0**11: where every one of them begins."""
    parts = below(keyword.value)
    return keyword.arg == "init_scale" and not any(
        isinstance(one, ast.Name | ast.Attribute | ast.Call) for one in parts
    )


def made_each_epoch(function: Reading) -> Iterator[Finding]:
    """for epoch in range(n): train(model, optimizer), of a function of the project that makes a scaler for itself."""
    program = function.file.program
    for loop in function.parts(Loop) if function.parts(Call) else ():
        if not isinstance(loop.node, ast.For):
            continue
        # In no branch: it may be that of one epoch.
        calls = [one for one in loop.body if isinstance(one, Call) and _names_scaler(one.function)]
        for call in calls if calls and _counts_epochs(loop.node) else ():
            callee = Reading(call.function.node, program.body_of(call.function), call.function.scope, function.file)
            node = _own_scaler(callee)
            if node is None or _begins(function, loop.node) or _is_given_anew(call, loop.node):
                continue
            what = f"{written(node)} makes a new scaler in every epoch: the scale that was found is forgotten"
            site = site_of(node, program.path_of(call.function))
            found = note(REGISTRY["ZG203"], site, certain=True, what=what)
            yield found._replace(cure="make the scaler once, before the epochs, and hand it on")


def _names_scaler(function: Function) -> bool:
    home = function.scope.module.home
    return home is not None and "GradScaler" in home.text


def _is_given_anew(call: Call, loop: ast.For) -> bool:
    """Whether it is handed what every round of the loop makes, a part of that, or another of several."""
    anew = {path_of(part) for part in below(loop) if isinstance(getattr(part, "ctx", None), ast.Store)}
    given = {path for _, path in call.arguments if path is not None}
    return not (given | {path.partition(".")[0] for path in given}).isdisjoint(anew) or any(
        "[*]" in one for one in given
    )


def _counts_epochs(loop: ast.For) -> bool:
    """for epoch in range(n), for i in range(n_epochs); in (1, 5, 20) there may be as many trainings."""
    target = loop.target.id if isinstance(loop.target, ast.Name) else ""
    named = _EPOCH.search(target) is not None or (bool(target) and _EPOCHS.search(written(loop.iter)) is not None)
    counted = isinstance(loop.iter, ast.Call) and written(loop.iter) != "range(1)"
    return named and counted and not any(isinstance(one, ast.Break) for one in loop.body)


def _own_scaler(callee: Reading) -> ast.Assign | None:
    """Where a function that trains for one epoch makes the scaler it steps with, for an optimizer that is another's."""
    for node in callee.of(ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Name(id=scaler)], value=ast.Call(func=func, keywords=keywords)):
                if not (path_of(func) or "").endswith("GradScaler") or not all(map(_is_usual, keywords)):
                    continue
                acts = [act for act in callee.having(Kind.CONSUME) if _scaler_of(act) == scaler]
                around = [[loop for loop in callee.loops if act.node and holds(loop, act.node)] for act in acts]
                once = bool(acts) and all(len(loops) == 1 and not holds(loops[0], node) for loops in around)
                ours = any(makes_optimizer(call, callee.scope) for call in callee.of(ast.Call)) or _makes(callee, acts)
                if once and not ours and not callee.arms(node) and not _is_kept(callee, scaler):
                    return node
    return None


def _makes(callee: Reading, steps: list[Act]) -> bool:
    """optimizer = build_optimizer(model); what is only asked for, context.get_optimizer(), was there before."""
    slots = {act.slot for act in steps}
    made = [node.value for node in callee.of(ast.Assign) if path_of(node.targets[0]) in slots]
    return any(not isinstance(value, ast.Call) or value.args or value.keywords for value in made)


def _is_usual(keyword: ast.keyword) -> bool:
    """enabled=args.amp: a setting. A scale that it begins with may be that of the epoch before, or one for good."""
    asked = keyword.value.value is True if isinstance(keyword.value, ast.Constant) else path_of(keyword.value)
    return keyword.arg == "enabled" and bool(asked)


def _is_kept(callee: Reading, scaler: str) -> bool:
    """Whether it is used for more than its steps: handed on, or out, or asked for what the next one begins with."""
    plain = {id(one.value) for one in callee.of(ast.Attribute) if one.attr in _PLAIN}
    names = [one for one in callee.of(ast.Name) if one.id == scaler and isinstance(one.ctx, ast.Load)]
    return scaler in callee.scope.shared or any(id(one) not in plain for one in names)


def _begins(function: Reading, loop: ast.AST) -> bool:
    """Whether every iteration is a training of its own, with a new optimizer."""
    return any(makes_optimizer(call, function.scope) and holds(loop, call) for call in function.of(ast.Call))


def _waits(function: Reading, steps: list[Act], call: ast.Call, window: Window) -> bool:
    """Whether every step waits for what the call waits for, and for the window's guard."""
    its = function.arms(call)
    behind = [function.arms(act.node) - its for act in steps if act.node is not None and its < function.arms(act.node)]
    guard = window.choice.site
    if any(place(steps[0].node or call) < place(one) < place(call) for one in function.of(ast.Continue)):
        return False  # if not stepped: continue
    return len(behind) == len(steps) and all(
        any(function.site(branch.test) == guard for branch, _ in one) for one in behind
    )


def _scaler_of(act: Act) -> str | None:
    """`scaler` of `scaler.step(optimizer)`."""
    if not act.scaled or not isinstance(act.node, ast.Call) or not isinstance(act.node.func, ast.Attribute):
        return None
    return path_of(act.node.func.value)
