"""An iteration that unscales, and is given up before the scaler hears of it: the next unscale_() raises (ZG204).

scaler.unscale_(optimizer)
norm = clip_grad_norm_(model.parameters(), 1.0)
if torch.isfinite(norm):        # with half precision it is not, whenever the scale is too large
    scaler.step(optimizer)
    scaler.update()             # the scaler remembers that it has unscaled until this runs

So with `if skip: continue` in between. Told where the branch asks for something that only this iteration knows (NaN,
the norm that a clip has returned, a flag that is set behind the unscale_()), and every update() of that scaler stands
in it. Silent where the other arm ends the loop or begins another scaler, where the scaler is handed to somebody in the
loop, where it is an object of the project or switched off, and where other lines of the file name its update() too.
"""

import ast
import re
from collections.abc import Iterable, Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.questions import asks_for_nan
from zerograd.source.lowering.clips import CLIPS
from zerograd.source.names.scopes import Role
from zerograd.source.text.nodes import below, holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import ENDINGS
from zerograd.source.values.reading import LoopNode, Reading

_MESSAGE = (
    "{what} raises once {update}() on line {line} was skipped: until then the scaler remembers that it has unscaled"
)
_CURE = "call {update}() in every iteration that has unscaled, also where the step is skipped"
_SKIPPED = "where this asks for it, {update}() does not run"
_AWAY = (ast.Break, ast.Return, ast.Raise)


def detect(function: Reading) -> Iterator[Finding]:
    if not function.file.says("unscale_") or not function.file.says(".update("):
        return
    known: dict[str, list[ast.Call]] = {}  # by scaler: one may unscale for many optimizers
    for act in function.having(Kind.UNSCALE):
        call = act.node
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        scaler = path_of(call.func.value) or ""
        if scaler not in known:
            known[scaler] = only_updates(function, scaler)
        updates = known[scaler]
        loop = function.loop_around(call)
        if not updates or not is_kept_here(function, scaler, updates, loop):
            continue
        skip = _narrower(function, call, updates, loop) or _given_up(function, call, updates, loop)
        if skip is not None:
            update = f"{scaler}.update"
            names = {"what": act.what.replace("()", f"({act.slot})"), "update": update, "line": updates[0].lineno}
            related = (Related(function.site(skip.test), _SKIPPED.format(update=update)),)
            found = note(REGISTRY["ZG204"], act.site, certain=True, related=related, what=act.what)
            yield found._replace(message=_MESSAGE.format(**names), cure=_CURE.format(update=update))


def only_updates(function: Reading, scaler: str) -> list[ast.Call]:
    """The calls of a scaler's update() in this function; none where it is not torch's, or others name them too."""
    binding, text = function.scope.lookup(scaler), function.file.text
    if binding is not None and (binding.role is not Role.SCALER or binding.over):
        return []
    updates = [one for one in function.of(ast.Call) if path_of(one.func) == f"{scaler}.update"]
    named = re.findall(rf"\b{re.escape(scaler.rpartition('.')[2])}\.update\b", text) if updates else []
    return updates if len(named) == len(updates) and "_per_optimizer_states" not in text else []


def is_kept_here(function: Reading, scaler: str, updates: list[ast.Call], loop: LoopNode | None) -> bool:
    """Whether a scaler is updated in this loop alone, outlives its iterations, and is handed to nobody in it."""
    if loop is None and not scaler.startswith("self."):
        return False  # one function for all of them: it may be called once
    if any(function.loop_around(one) is not loop for one in updates):
        return False
    within = loop or function.node
    calls = [one for one in function.of(ast.Call) if holds(within, one)]
    handed = [given for one in calls for given in (*one.args, *(named.value for named in one.keywords))]
    makes = [target for one in function.of(ast.Assign) if holds(within, one) for target in one.targets]
    return scaler not in map(path_of, (*handed, *makes))


def _narrower(function: Reading, call: ast.Call, updates: list[ast.Call], loop: LoopNode | None) -> ast.If | None:
    """The branch that every update() stands in, and the unscale_() before it does not."""
    asked = {(written(branch.test), arm) for branch, arm in function.arms(call)}
    common = frozenset.intersection(*map(function.arms, updates))
    own = {(written(branch.test), arm) for branch, arm in common}
    if not asked <= own or any(one.lineno < call.lineno for one in updates):
        return None
    for branch, arm in sorted(common, key=lambda one: one[0].lineno):
        other = branch.orelse if arm else branch.body
        inside = loop is None or holds(loop, branch)
        if (written(branch.test), arm) in asked or not inside or branch.lineno < call.lineno:
            continue
        return branch if _is_of_iteration(function, branch.test, call) and not _ends(other) else None
    return None


def _given_up(function: Reading, call: ast.Call, updates: list[ast.Call], loop: LoopNode | None) -> ast.If | None:
    """if not isfinite(norm): continue, between the two."""
    first = min(one.lineno for one in updates)
    away = ast.Return if loop is None else ast.Continue
    for branch in function.of(ast.If):
        between = call.lineno < branch.lineno < first and function.loop_around(branch) is loop
        if not between or not isinstance(branch.body[-1], away):
            continue
        if not function.arms(branch.body[0]) - {(branch, True)} <= function.arms(call):
            continue
        updated = any(holds(branch, one) for one in updates)
        if not updated and not _ends(branch.body[:-1]) and _is_of_iteration(function, branch.test, call):
            return branch
    return None


def _ends(statements: Iterable[ast.stmt]) -> bool:
    """Whether something in there ends the training: a jump out, an exit."""
    parts = [part for one in statements for part in below(one)]
    exits = (path_of(part.func) for part in parts if isinstance(part, ast.Call))
    return any(isinstance(part, _AWAY) for part in parts) or any(path in ENDINGS for path in exits)


def _is_of_iteration(function: Reading, test: ast.expr, call: ast.Call) -> bool:
    """Whether a test asks for NaN, for a norm that was clipped, or for a flag that is set behind the unscale_()."""
    parts = below(test)
    if asks_for_nan(test) and any(isinstance(part, ast.Call | ast.Compare) for part in parts):
        return True
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    behind = [one for one in function.of(ast.Assign) if call.lineno < one.lineno <= test.lineno]
    told = [one.value for one in behind if isinstance(one.targets[0], ast.Name) and one.targets[0].id in names]
    return any(_clips(value) or asks_for_nan(value) or _is_flag(value) for value in told)


def _clips(value: ast.expr) -> bool:
    calls = [part.func for part in below(value) if isinstance(part, ast.Call)]
    return any((path_of(func) or "").rpartition(".")[2] in CLIPS for func in calls)


def _is_flag(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, bool)
