"""A step of a scaler that some way through the iteration never follows with update(): the next one raises (ZG203).

scaler.step(optimizer)
if i % log_every != 0:
    continue
print(loss.item())
scaler.update()                 # only where something is printed

So with `if clip: ... scaler.step(optimizer); return` before the step that is updated. Told where no other line of the
file names that scaler's update(), and either no way from the step meets it, or those that do not are chosen by a
counter. Silent where the branch may ask whether scaling is switched on, where the scaler steps for several optimizers,
and where what the step stands in (a `try`, a loop of its own) may go on in other ways.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.skeleton import Act
from zerograd.source.names.scopes import Role
from zerograd.source.text.nodes import below, holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import ENDINGS
from zerograd.source.values.reading import LoopNode, Reading

_MESSAGE = "{step} runs again before {update}() on line {line} has run: then it raises"
_CURE = "call {update}() behind every {step}, on every way through the iteration"
_UNMET = "on this way the iteration ends without {update}()"
# Where scaling is switched off, update() does nothing.
_SWITCHES = pattern(r"amp|fp|half|scal|precision|enabled|dtype|bf|mixed|cuda|cpu|gpu|device|mps|xla|tpu|apex")
_MOST = 16  # ways


class _Unread(Exception):
    """What stands on a way cannot be followed."""


class _Way(NamedTuple):
    """A way from a step that meets no update: what was asked on it, and whether the iteration ends there."""

    asked: tuple[ast.If, ...] = ()
    ended: bool = False


def detect(function: Reading) -> Iterator[Finding]:
    if not function.file.says(".update("):
        return
    steps: dict[str, list[Act]] = {}
    for act in function.having(Kind.CONSUME):
        if act.scaled and isinstance(act.node, ast.Call) and isinstance(act.node.func, ast.Attribute):
            steps.setdefault(path_of(act.node.func.value) or "", []).append(act)
    for scaler, acts in steps.items():
        if len({act.slot for act in acts}) == 1 and not getattr(function.node, "name", "").startswith("test"):
            yield from _of_scaler(function, scaler, acts)


def _of_scaler(function: Reading, scaler: str, steps: list[Act]) -> Iterator[Finding]:
    updates = _only_updates(function, scaler)
    for act in steps if updates else ():
        step = act.node
        assert isinstance(step, ast.Call)
        loop = function.loop_around(step)
        before = any(one.lineno < step.lineno and not function.excludes(one, step) for one in updates)
        if before or not _is_kept_here(function, scaler, updates, loop):
            continue
        way = _unmet(function, step, updates, loop)
        if way is not None and not _is_updated_beside(function, scaler):
            update = f"{scaler}.update"
            related = tuple(Related(function.site(one.test), _UNMET.format(update=update)) for one in way.asked[-1:])
            found = note(REGISTRY["ZG203"], act.site, certain=True, related=related, what="")
            line = min((one.lineno for one in updates if one.lineno > step.lineno), default=updates[0].lineno)
            message = _MESSAGE.format(step=act.what, update=update, line=line)
            yield found._replace(message=message, cure=_CURE.format(step=act.what, update=update))


def _is_updated_beside(function: Reading, scaler: str) -> bool:
    """Whether a file beside this one may say `trainer.scaler.update()`."""
    if "." not in scaler:
        return False
    said, texts = f".{scaler.rpartition('.')[2]}.update(", function.file.beside
    return texts is None or any(said in text for text in texts)


def _unmet(function: Reading, step: ast.Call, updates: list[ast.Call], loop: LoopNode | None) -> _Way | None:
    """A way from a step to the end of the iteration that surely is taken now and then, and meets no update."""
    body = loop.body if loop is not None else getattr(function.node, "body", [])
    around = [branch for branch, _ in function.arms(step) if loop is None or holds(loop, branch)]
    ways = _Ways(updates, loop is not None)
    try:
        found = list(ways.behind(step, body))
    except _Unread:
        return None
    always = [way for way in found if not way.asked]
    if always:
        return always[0] if not any(_SWITCHES.search(written(branch.test)) for branch in around) else None
    for way in found:
        inside = all(holds(branch, asked) for branch in around for asked in way.asked)
        if inside and all(_is_counted(function, one.test, loop) for one in way.asked):
            return way
    return None


class _Ways:
    """The ways through statements that meet none of some calls."""

    def __init__(self, updates: list[ast.Call], in_loop: bool) -> None:
        self._updates = updates
        self._ends = (ast.Continue,) if in_loop else (ast.Return,)
        self._leaves = (ast.Raise, ast.Break, ast.Return) if in_loop else (ast.Raise,)

    def behind(self, step: ast.Call, body: list[ast.stmt]) -> Iterator[_Way]:
        """Those from a call in there to the end."""
        place = next((number for number, one in enumerate(body) if holds(one, step)), None)
        if place is None:
            raise _Unread
        yield from self._on(self._out_of(step, body[place]), body[place + 1 :])

    def _out_of(self, step: ast.Call, statement: ast.stmt) -> Iterator[_Way]:
        """Those from a call to the end of the statement that it stands in."""
        match statement:
            case ast.If(test=test, body=body, orelse=orelse) if not holds(test, step):
                yield from self.behind(step, body if any(holds(one, step) for one in body) else orelse)
            case ast.With(body=body) if any(holds(one, step) for one in body):
                yield from self.behind(step, body)
            case ast.Expr() | ast.Assign():
                yield _Way()
            case _:
                raise _Unread

    def _on(self, ways: Iterable[_Way], statements: list[ast.stmt]) -> list[_Way]:
        """Those that go on through these."""
        going = list(ways)
        for one in statements:
            ended = [way for way in going if way.ended]
            going = ended + [on for way in going if not way.ended for on in self._through(way, one)]
            if len(going) > _MOST:
                raise _Unread
        return going

    def _through(self, way: _Way, statement: ast.stmt) -> list[_Way]:
        if isinstance(statement, self._ends):
            return [way._replace(ended=True)]
        if isinstance(statement, self._leaves) or self._is_end(statement):
            return []
        parts = below(statement) if hasattr(statement, "body") else []
        decides = any(isinstance(part, (*self._ends, *self._leaves)) for part in parts)
        if not decides and not any(holds(statement, one) for one in self._updates):
            return [way]
        match statement:
            case ast.If(body=body, orelse=orelse):
                asked = way._replace(asked=(*way.asked, statement))
                return [*self._on([asked], body), *self._on([asked], orelse)]
            case ast.With(body=body):
                return self._on([way], body)
            case ast.Expr() | ast.Assign():
                return []
        raise _Unread

    def _is_end(self, statement: ast.stmt) -> bool:
        """sys.exit()"""
        call = statement.value if isinstance(statement, ast.Expr) else None
        return isinstance(call, ast.Call) and path_of(call.func) in ENDINGS


def _is_counted(function: Reading, test: ast.expr, loop: LoopNode | None) -> bool:
    """Whether a test asks a counter that moves here, i % 10, and nothing that is found out on the way."""
    parts = below(test)
    paths = {path_of(part) for part in parts if isinstance(part, ast.Name | ast.Attribute)}
    if loop is None or _SWITCHES.search(written(test)):
        return False
    targets = below(loop.target) if isinstance(loop, ast.For) else []
    counters = {path_of(part) for part in targets} | {path_of(one.target) for one in function.of(ast.AugAssign)}
    found_out = {path_of(target) for one in function.of(ast.Assign) if holds(loop, one) for target in one.targets}
    asks = [path_of(name) for part in parts if _is_modulo(part) for name in below(part.left)]
    return any(one is not None and one in counters for one in asks) and paths.isdisjoint(found_out - counters)


def _is_modulo(part: ast.AST) -> bool:
    return isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod)


def _only_updates(function: Reading, scaler: str) -> list[ast.Call]:
    """The calls of a scaler's update() in this function; none where it is not torch's, or others name them too."""
    binding, text = function.scope.lookup(scaler), function.file.text
    if binding is not None and (binding.role is not Role.SCALER or binding.over):
        return []
    updates = [one for one in function.of(ast.Call) if path_of(one.func) == f"{scaler}.update"]
    named = re.findall(rf"\b{re.escape(scaler.rpartition('.')[2])}\.update\b", text) if updates else []
    return updates if len(named) == len(updates) and "_per_optimizer_states" not in text else []


def _is_kept_here(function: Reading, scaler: str, updates: list[ast.Call], loop: LoopNode | None) -> bool:
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
