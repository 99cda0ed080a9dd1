"""One call in the text: the events it is, the function of this file it runs, or the doubt it leaves."""

import ast
from collections.abc import Callable, Iterator
from functools import lru_cache

from zerograd.core.events import Kind, Site
from zerograd.core.facts import ALL_DOUBTS, Doubts
from zerograd.source.counting.losses import loss_of
from zerograd.source.lowering.callees import Callee, callees_of, functions_of, methods_of
from zerograd.source.lowering.clips import CLIPS, clips_a_list, knows_scale, only_measures
from zerograd.source.lowering.moving import is_begun, is_guessed, is_old, moved_by
from zerograd.source.lowering.receivers import clipped, is_a_part, is_gradient, picked
from zerograd.source.lowering.scales import is_plain, is_scaled
from zerograd.source.lowering.sharpness import HALVES, clears_too
from zerograd.source.lowering.skeleton import Act, Blur, Call, Choice
from zerograd.source.lowering.tidying import may_clear
from zerograd.source.names.harmless import keeps_optimizer
from zerograd.source.names.hooks import Hooks
from zerograd.source.names.instruments import Tools, names_scaler
from zerograd.source.names.opaque import ACCELERATE, is_accelerates, is_harmless, makes_something, told, unseen
from zerograd.source.names.roles import has_own_schedules
from zerograd.source.names.scopes import Function, Role, Scope
from zerograd.source.names.standing import Names, Standing
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of, short
from zerograd.source.text.wording import BUILTINS

# The names of calls that may be events.
_NAMES = frozenset(
    {"backward", "manual_backward", "step", "zero_grad", "unscale_", *CLIPS, *HALVES}
    | {"zero_", "mul_", "div_", "fill_", "copy_", "set_"}  # of a gradient
)
_WRAPPED = frozenset({"step", "zero_grad", "unscale_", *CLIPS})  # by an object of the project, under the same name
_APEX = ("scale_loss", "master_params")  # wherever `amp` was imported: they hand out, and divide the scale out again
_PATHS = frozenset({ast.Name, ast.Attribute, ast.Subscript})
_ELSEWHERE = "torch.distributed.autograd"
_CLEARED: Doubts = frozenset({Kind.CLEAR})
_SCALES: Doubts = frozenset({Kind.UNSCALE})
_SCHEDULES_OWN: Doubts = frozenset({Kind.SCHEDULE})


def site_of(node: ast.expr | ast.stmt | ast.ExceptHandler, path: str) -> Site:
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return Site(path, node.lineno, node.col_offset + 1, end_line, end_column + 1)


class CallReader(Tools):
    """Reads the calls of one file. `scales`: losses are scaled in this file. `idle`: of a function of the project,
    whether it touches no gradient."""

    def __init__(self, path: str, *, by_manner: frozenset[str], scales: bool, idle: Callable[[Function], bool]) -> None:
        super().__init__(by_manner)
        self._path = path
        self.is_idle = idle
        self._scales = scales
        self._hooks = Hooks()
        self._names = Names()
        self.foreign = self._names.foreign

    def read(self, call: ast.Call, scope: Scope) -> list[Act | Blur | Call | Choice]:
        func = call.func
        path = path_of(func)
        known: list[Act | Blur | Call | Choice] = []
        if (func.attr if isinstance(func, ast.Attribute) else path) in _NAMES:
            known += self._events(call, scope)
        if not known and len(call.args) > 1 and path is not None and names_scaler(path):
            known += self._native_scaler(call, path, scope)
        if known and not self._is_read(path or "", scope):
            return known
        return [] if path is None else self._other(call, path, scope)

    def _events(self, call: ast.Call, scope: Scope) -> Iterator[Act | Blur | Call]:
        name, receiver = _split(call.func, scope)
        first = scope.slot(call.args[0]) if call.args else None

        def act(kind: Kind, slot: str | None, *, scaled: bool = False) -> Act:
            inside = first if scaled and kind is Kind.CONSUME else ""
            what = f"{short(call.func)}({inside or ''})"
            return Act(kind, slot, site_of(call, self._path), what, scaled, call)

        def blur(kinds: Doubts, slot: str | None = None) -> Blur:
            return self._blur(call, kinds, slot)

        if receiver is not None and scope.stands_for.get(receiver) == "" and name != "backward":
            yield blur(ALL_DOUBTS)  # whichever of them it is
            return
        match name:
            case "backward" if scope.dotted(receiver or "").startswith(_ELSEWHERE):
                yield blur(ALL_DOUBTS)  # a context of its own keeps these gradients, and begins anew with each
            case "backward" if receiver and _is_by_hand(receiver, scope):
                yield blur(ALL_DOUBTS)
            case "backward" | "manual_backward":
                if not _is_definition(call, scope) and not _is_made_leaf(receiver, scope):
                    scaled = is_scaled(call, scope)
                    if receiver and call.args and self.is_optimizer(receiver, scope):
                        yield blur(_CLEARED, receiver)  # optimizer.backward(losses): a wrapper may clear by itself
                    yield act(Kind.DEPOSIT, None)._replace(scaled=scaled)
                    if self._scales and not scaled and not is_plain(loss_of(call), scope):
                        yield blur(_SCALES)
            case "step" if receiver and self.is_scaler(receiver, scope) and first:
                yield act(Kind.CONSUME, first, scaled=True)
                if may_clear(first, scope):
                    yield blur(_CLEARED, first)
            case "step" if receiver and self.is_optimizer(receiver, scope) and (one := picked(call)):
                yield from (blur(_SCALES),) if call.keywords else ()  # step("decoder", scaler=scaler)
                yield act(Kind.CONSUME, receiver + one)
            case "step" if receiver and self.is_optimizer(receiver, scope):
                yield from self._closure(call, receiver, scope)
                yield act(Kind.CONSUME, receiver)
                if may_clear(receiver, scope):
                    yield blur(_CLEARED, receiver)
            case "step" if receiver and not call.args and not call.keywords and self.is_scheduler(receiver, scope):
                guessed = scope.lookup(receiver) is None and has_own_schedules(scope.module)
                if is_old(scope.module) or guessed or (receiver.startswith("self.") and is_begun(scope.owner)):
                    yield blur(_SCHEDULES_OWN)
                yield act(Kind.SCHEDULE, self.driven_by(receiver, scope))
            case _ if name in HALVES and receiver and self.is_optimizer(receiver, scope):
                if self._scales:
                    yield blur(_SCALES)  # the way up is of a length of its own, whatever the scale
                yield act(Kind.CONSUME, receiver)
                clears = clears_too(call, name, receiver, scope)
                if clears is not False:
                    yield act(Kind.CLEAR, receiver) if clears else blur(_CLEARED, receiver)
            case "zero_grad":
                yield self._clear(act, receiver, scope)
            case "unscale_" if first:
                yield act(Kind.UNSCALE, first)
            case "zero_" if is_gradient(call.func):
                yield act(Kind.CLEAR, None)
            case "mul_" | "div_" if is_gradient(call.func):
                yield act(Kind.RESCALE, None)
            case "fill_" | "copy_" | "set_" if is_gradient(call.func):
                yield blur(ALL_DOUBTS)  # gradients of the user's own making
            case _ if name in CLIPS and not only_measures(call) and not clips_a_list(call, scope):
                # Accelerate's and Fabric's own clipping divides the loss scale out first.
                own = receiver is not None and not scope.dotted(receiver).startswith("torch")
                if knows_scale(call):
                    yield blur(_SCALES)
                yield act(Kind.CLIP, scope.optimizer_of(clipped(call)))._replace(scaled=own)

    def _clear(self, act: Callable[[Kind, str | None], Act], receiver: str | None, scope: Scope) -> Act:
        if receiver is not None and self.is_optimizer(receiver, scope):
            return act(Kind.CLEAR, receiver)
        cleared = act(Kind.CLEAR, scope.optimizer_of(receiver))
        return cleared._replace(partial=True) if receiver is None and is_a_part(cleared.node) else cleared

    def _is_read(self, path: str, scope: Scope) -> bool:
        """Whether what has the name of an event is a method that this project defines: it is read, not guessed at.

        Of another object only what a wrapper of optimizers has: whose `backward()` it is, every project knows best.
        """
        receiver, _, name = path.rpartition(".")
        if receiver == "self":
            return scope.function(path) is not None
        callees = callees_of(path, scope) if name in _WRAPPED else []
        if not callees or (name in CLIPS and self.is_idle(callees[0].function)):
            return False  # one that clips in a way of its own still clips
        return callees[0].receiver is not None and not callees[0].function.is_abstract

    def _native_scaler(self, call: ast.Call, path: str, scope: Scope) -> Iterator[Act]:
        """loss_scaler(loss, optimizer, ..., update_grad=...): backward, unscale, clip and step in one call."""
        second = scope.slot(call.args[1])
        if second and self.is_optimizer(second, scope):
            site = site_of(call, self._path)
            yield Act(Kind.DEPOSIT, None, site, f"{path}()", True, None)
            yield Act(Kind.CONSUME, second, site, f"{path}()", True, call)

    def _closure(self, call: ast.Call, receiver: str, scope: Scope) -> Iterator[Blur]:
        """A closure clears and deposits inside the step; what it deposits, others get too."""
        given = (*call.args, *(keyword.value for keyword in call.keywords))
        if any(not isinstance(one, ast.Constant) for one in given):  # optimizer.step(None) is none
            yield self._blur(call, frozenset({Kind.DEPOSIT}), None)
            yield self._blur(call, ALL_DOUBTS, receiver)

    # Everything else

    def _other(self, call: ast.Call, path: str, scope: Scope) -> list[Act | Blur | Call | Choice]:
        standing = self._names.of(path, scope)
        if standing is Standing.FOREIGN or path in BUILTINS:
            return []
        bound = standing is Standing.BOUND
        owner, _, name = path.rpartition(".")
        if owner and (self.is_scaler(owner, scope) if bound else names_scaler(owner)):
            return []
        if name in _APEX or (name in ACCELERATE and is_accelerates(path, scope)):
            return []
        if standing is Standing.NOBODY and not call.args and not call.keywords:
            kinds = _alone(path)
            return [self._blur(call, kinds)] if kinds else []
        callees = [] if standing is Standing.NOBODY else functions_of(path, scope)
        if bound and not callees:
            callees = methods_of(path, scope)
        if callees:
            return self._one_of(callees, call, scope)
        found: list[Act | Blur | Call | Choice] = []
        hook = self._hooks.read(path, call, scope) if bound else None
        if hook is not None:
            found.append(Callee(hook, "self", scope.owner).called(call, scope))
        if call.args or call.keywords:
            found += self._handed(call, name, scope)
        told_by = told(path, scope) if bound else None
        kinds = unseen(path, call, scope) if told_by is None else told_by
        return [*found, self._blur(call, kinds)] if kinds else found

    def _handed(self, call: ast.Call, name: str, scope: Scope) -> list[Blur]:
        """What a call may do with an optimizer or a scaler that it is handed. A constructor keeps it; it takes no step
        with it."""
        found: list[Blur] = []
        given = call.args + [keyword.value for keyword in call.keywords] if call.keywords else call.args
        for argument in given:
            handed = scope.slot(argument) if argument.__class__ in _PATHS else None
            if handed and self.is_optimizer(handed, scope):
                found.append(self._blur(call, ALL_DOUBTS, handed))
            elif handed and self.is_scaler(handed, scope):
                found.append(self._blur(call, ALL_DOUBTS))
        return [] if found and (makes_something(name) or keeps_optimizer(name)) else found

    def _blur(self, call: ast.Call, kinds: Doubts, slot: str | None = None) -> Blur:
        return Blur(kinds, slot, site_of(call, self._path), f"{short(call.func)}()")

    def _one_of(self, callees: list[Callee], call: ast.Call, scope: Scope) -> list[Act | Blur | Call | Choice]:
        called: Call | Choice | None = None
        for callee in callees:
            if callee.receiver != "self" and callee.function.node.name == "forward" and self.is_idle(callee.function):
                continue  # model(x)
            one = callee.called(call, scope, site_of(call, self._path))
            moved = moved_by(callee) if len(callees) == 1 else None
            if moved and self.is_scheduler(moved, callee.function.scope) and not is_old(scope.module):
                driven = self.driven_by(moved, callee.function.scope)
                slot = one.outside(driven) if driven is not None else None
                act = Act(Kind.SCHEDULE, slot, site_of(call, self._path), f"{short(call.func)}()", node=call)
                whose = scope.lookup(one.outside(moved) or "")
                known = whose is not None and whose.role is Role.SCHEDULER
                sure = not is_begun(callee.cls) and (known or not is_guessed(moved, callee.cls))
                return [act] if sure else [self._blur(call, _SCHEDULES_OWN), act]
            called = one if called is None else Choice((one,), (called,))
        return [] if called is None else [called]

    def is_harmless(self, call: ast.Call, scope: Scope) -> bool:
        """Whether a call is one of Python's or torch's own: it makes no optimizer, unless torch.optim does."""
        return is_harmless(path_of(call.func) or "", scope)


def may_be_event(name: str) -> bool:
    """Whether a call of something with this last word may be one, though it is torch's own."""
    return name in _NAMES or names_scaler(name)


@lru_cache(maxsize=4096)
def _alone(path: str) -> Doubts:
    """What a call of nobody's method may do that is handed nothing: its words tell, the same in every file."""
    return unseen(path, ast.Call(ast.Name(path), [], []), Scope())


def _split(func: ast.expr, scope: Scope) -> tuple[str, str | None]:
    match func:
        case ast.Attribute(value=value, attr=attr):
            return attr, scope.slot(value)
        case ast.Name(id=name) if name in CLIPS:
            return name, None
    return "", None


def _is_definition(call: ast.Call, scope: Scope) -> bool:
    """`SomeFunction.backward(ctx, grad)`, `super().backward(...)`: a method being passed on, not a loss."""
    value = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(value, ast.Call) and path_of(value.func) == "super"


def _is_by_hand(receiver: str, scope: Scope) -> bool:
    """Whether it is an object of this project whose own backward() reads or writes gradients: a balance of losses."""
    binding = scope.lookup(receiver)
    method = binding.cls.method("backward") if binding is not None and binding.cls is not None else None
    return method is not None and any(
        isinstance(one, ast.Attribute) and one.attr == "grad" for one in below(method.node)
    )


def _is_made_leaf(loss: str | None, scope: Scope) -> bool:
    """Whether the loss is a copy without a graph: its backward() reaches no parameter."""
    binding = scope.bindings.get(loss) if loss is not None else None
    return binding is not None and binding.role is Role.LEAF
