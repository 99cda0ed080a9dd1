"""What a run did to gradients, written down as data: events with their places, and which parameters each concerned.

It is lighter than the audit, and judges nothing. A parameter is known by its makers, as a reader knows it: the line
that made a module it belongs to and its path in it, the line that bound it to a name, or the parameter of a root that
it came in by.
"""

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.variable import Variable
from torch.nn.utils import clip_grad
from torch.optim import Optimizer
from torch.optim import optimizer as torch_optimizer

from laws.reader.driver.standins import bent
from zerograd.core.events import Kind

PROGRAM = "program.py"
Maker = int | str  # a line of the program, or "root(parameter)"
Name = tuple[Maker, int, str]  # maker of an owner, which of the things it made, and the dotted path in that


class Moment(NamedTuple):
    """One event."""

    kind: Kind
    lines: tuple[int, ...]  # of the program's frames, innermost first
    parameters: frozenset[int]  # those it concerned: filled, read, emptied, shortened
    optimizer: int | None = None
    scaled: bool = False


class Seen(NamedTuple):
    """Everything that was written down of one program."""

    moments: tuple[Moment, ...]
    names: dict[int, frozenset[Name]]  # by parameter, what it is known by
    optimizers: dict[int, Maker]
    live: dict[tuple[int, str], frozenset[bool]]  # by line and name that is bound there: whether the tensor had a graph
    bent: int  # operations whose arguments did not fit, and whose results were made of them all the same
    stopped_by: tuple[str, ...]  # what each root that did not come to its end was stopped by


class Enough(BaseException):
    """This root has shown what it does."""


class Probe:
    def __init__(self, tree: ast.Module, *, most: int) -> None:
        self._most, self._left = most, most
        self._moments: list[Moment] = []
        self._names: dict[int, set[Name]] = defaultdict(set)
        self._optimizers: dict[int, Maker] = {}
        self._live: dict[tuple[int, str], set[bool]] = defaultdict(set)
        self._numbers: dict[
            int, int
        ] = {}  # by id of a parameter or optimizer, a number that does not change between runs
        self._kept: list[object] = []  # what has a number stays alive, so that no other gets its id
        self._modules: dict[int, tuple[nn.Module, Maker, int]] = {}
        self._made_by: Counter[Maker] = Counter()
        self._leaves: dict[int, Tensor] = {}
        self._grads: dict[int, tuple[int, int] | None] = {}
        self._scaled: set[int] = set()
        self._statement, self._stored = _statements(tree)
        self.entered: set[CodeType] = set()
        self.stopped_by: list[str] = []

    def seen(self) -> Seen:
        return Seen(
            tuple(self._moments),
            {number: frozenset(found) for number, found in self._names.items()},
            dict(self._optimizers),
            {place: frozenset(found) for place, found in self._live.items()},
            len(bent),
            tuple(self.stopped_by),
        )

    def next_root(self) -> None:
        self._left = self._most

    def label(self, thing: object, maker: Maker) -> None:
        """A stand-in and what it was handed in as."""
        if isinstance(thing, nn.Module | Optimizer):
            self._enter(thing, maker)
        elif isinstance(thing, list | tuple):
            for at, one in enumerate(thing):
                self.label(one, f"{maker}[{at}]")

    # Events

    def install(self) -> None:
        """Into torch, in a process of its own: nothing is put back."""
        Variable._execution_engine = _Engine(Variable._execution_engine, self)
        torch_optimizer.register_optimizer_step_pre_hook(self._steps)
        torch_optimizer.register_optimizer_step_post_hook(lambda *args: self._look())
        _around(Optimizer, "zero_grad", lambda optimizer, *args, **kwargs: self._clears(_held(optimizer), optimizer))
        _around(nn.Module, "zero_grad", lambda module, *args, **kwargs: self._clears(list(module.parameters()), None))
        _around(nn.Module, "__init__", lambda module, *args, **kwargs: self._made(module))
        _around(Optimizer, "__init__", lambda optimizer, *args, **kwargs: self._made(optimizer))
        _around(torch.optim.lr_scheduler.LRScheduler, "step", self._schedules)
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            _around(clip_grad, name, self._clips, before=True)
            setattr(nn.utils, name, getattr(clip_grad, name))
        _around(torch.amp.GradScaler, "unscale_", lambda scaler, optimizer: self._unscales(optimizer))
        _around_result(torch.amp.GradScaler, "scale", lambda result: self._scaled.update(map(id, _tensors(result))))

    def _note(
        self, kind: Kind, parameters: list[Tensor], optimizer: Optimizer | None = None, *, scaled: bool = False
    ) -> None:
        lines = tuple(_lines())
        if not lines:
            return
        self._name_all()
        if len(self._moments) < 4 * self._most:
            number = self._number(optimizer) if optimizer is not None else None
            self._moments.append(Moment(kind, lines, frozenset(map(self._number, parameters)), number, scaled))
        self._left -= 1
        if self._left <= 0:
            raise Enough

    def before_backward(self, roots: Any) -> tuple[set[int], bool]:
        self._look()
        reached = list(_leaves(roots))
        for leaf in reached:
            self._leaves[id(leaf)] = leaf
        return {id(leaf) for leaf in reached}, any(id(root) in self._scaled for root in roots)

    def after_backward(self, reached: set[int], scaled: bool) -> None:
        changed = [
            leaf for leaf in self._leaves.values() if id(leaf) in reached or _grad(leaf) != self._grads.get(id(leaf))
        ]
        self._look()
        self._note(Kind.DEPOSIT, [leaf for leaf in changed if leaf.grad is not None], scaled=scaled)

    def _steps(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        through_scaler = any(frame.f_code.co_filename.endswith("grad_scaler.py") for frame in _frames())
        self._note(Kind.CONSUME, _held(optimizer), optimizer, scaled=through_scaler)

    def _clears(self, parameters: list[Tensor], optimizer: Optimizer | None) -> None:
        self._look()
        self._note(Kind.CLEAR, parameters, optimizer)

    def _schedules(self, schedule: Any, *args: object, **kwargs: object) -> None:
        if not any(frame.f_code.co_name == "_initial_step" for frame in _frames()):
            self._note(Kind.SCHEDULE, _held(schedule.optimizer), schedule.optimizer)

    def _clips(self, parameters: Any, *args: object, **kwargs: object) -> None:
        if isinstance(parameters, Tensor | list):  # a generator is the callee's to read
            self._note(Kind.CLIP, list(_tensors(parameters)))
        else:
            self._note(Kind.CLIP, [])

    def _unscales(self, optimizer: Optimizer) -> None:
        if _called_by_program():  # scaler.step() unscales too: that is its own affair
            self._note(Kind.UNSCALE, _held(optimizer), optimizer)

    # Who is who

    def _made(self, thing: nn.Module | Optimizer) -> None:
        maker = _maker(thing)
        if maker is not None:
            self._enter(thing, maker)

    def _enter(self, thing: nn.Module | Optimizer, maker: Maker) -> None:
        if isinstance(thing, Optimizer):
            self._optimizers[self._number(thing)] = maker
        elif id(thing) not in self._modules:
            self._made_by[maker] += 1
            self._modules[id(thing)] = (thing, maker, self._made_by[maker])

    def _number(self, thing: object) -> int:
        if id(thing) not in self._numbers:
            self._kept.append(thing)
            self._numbers[id(thing)] = len(self._kept)
        return self._numbers[id(thing)]

    def _name_all(self) -> None:
        for module, maker, nth in self._modules.values():
            for path, parameter in module.named_parameters(remove_duplicate=False):
                self._names[self._number(parameter)].add((maker, nth, path))

    # What happens between events

    def trace(self, frame: FrameType, event: str, arg: object) -> Any:
        """For sys.settrace: who is entered, what each line binds, and which gradients it changes by hand."""
        if frame.f_code.co_filename != PROGRAM:
            return None
        self.entered.add(frame.f_code)
        before = [self._statement.get(frame.f_lineno, 0) if event != "call" else 0]

        def line(frame: FrameType, event: str, arg: object) -> Any:
            if event in ("line", "return") and before[0]:
                self._after(frame, before[0])
            before[0] = self._statement.get(frame.f_lineno, 0)
            return line

        return line

    def _after(self, frame: FrameType, statement: int) -> None:
        stored = self._stored.get(statement, ())
        values = frame.f_locals if stored else {}
        for name in stored:
            value = values.get(name)
            if isinstance(value, nn.Module):
                self._enter(value, statement)  # a copy, or what a stand-in made: it is known by where it is bound
            if isinstance(value, Tensor) and value.is_floating_point():
                self._live[statement, name].add(value.requires_grad)
                if value.is_leaf and value.requires_grad:
                    self._leaves[id(value)] = value
                    self._names[self._number(value)].add((statement, self._number(value), ""))
        cleared = [leaf for leaf in self._leaves.values() if self._grads.get(id(leaf)) and _is_empty(leaf, self._grads)]
        self._look()
        if cleared:
            self._cleared_by_hand(frozenset(map(self._number, cleared)), (statement, *list(_lines())[1:]))

    def _cleared_by_hand(self, parameters: frozenset[int], lines: tuple[int, ...]) -> None:
        """A loop over the parameters is one clear of them all."""
        last = self._moments[-1] if self._moments else None
        if last is not None and (last.kind, last.lines) == (Kind.CLEAR, lines) and not last.parameters & parameters:
            self._moments[-1] = last._replace(parameters=last.parameters | parameters)
        else:
            self._moments.append(Moment(Kind.CLEAR, lines, parameters))

    def _look(self) -> None:
        """Where every gradient stands now: what differs at the next look was done by hand."""
        for module, _, _ in self._modules.values():
            for parameter in module.parameters():
                self._leaves[id(parameter)] = parameter
        self._grads = {id(leaf): _grad(leaf) for leaf in self._leaves.values()}


class _Engine:
    """Stands where torch keeps its autograd engine."""

    def __init__(self, engine: Any, probe: Probe) -> None:
        self._engine, self._probe = engine, probe

    def run_backward(self, roots: Any, *args: Any, **kwargs: Any) -> Any:
        if not kwargs.get("accumulate_grad"):
            return self._engine.run_backward(roots, *args, **kwargs)
        reached, scaled = self._probe.before_backward(roots)
        result = self._engine.run_backward(roots, *args, **kwargs)
        self._probe.after_backward(reached, scaled)
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def _around(owner: Any, name: str, then: Callable[..., None], *, before: bool = False) -> None:
    real = getattr(owner, name)

    def noted(*args: Any, **kwargs: Any) -> Any:
        if before:
            then(*args, **kwargs)
        result = real(*args, **kwargs)
        if not before:
            then(*args, **kwargs)
        return result

    setattr(owner, name, noted)


def _around_result(owner: Any, name: str, then: Callable[[Any], None]) -> None:
    real = getattr(owner, name)

    def noted(*args: Any, **kwargs: Any) -> Any:
        result = real(*args, **kwargs)
        then(result)
        return result

    setattr(owner, name, noted)


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _lines() -> Iterator[int]:
    return (frame.f_lineno for frame in _frames() if frame.f_code.co_filename == PROGRAM)


def _called_by_program() -> bool:
    """Whether the call that is being noted stands in the program, and not in torch or in a stand-in."""
    beyond = (frame.f_code.co_filename for frame in _frames() if frame.f_code.co_filename != __file__)
    return next(beyond, "") == PROGRAM


def _maker(thing: object) -> int | None:
    """The line of the program that made it; None for the parts of what torch or a stand-in made."""
    for frame in _frames():
        first = frame.f_code.co_varnames[:1]
        own = frame.f_code.co_name == "__init__" and first and frame.f_locals.get(first[0]) is thing
        if not own and frame.f_code.co_filename != __file__:
            return frame.f_lineno if frame.f_code.co_filename == PROGRAM else None
    return None


def _held(optimizer: Optimizer) -> list[Tensor]:
    return [one for group in optimizer.param_groups for one in group["params"]]


def _tensors(thing: Any) -> list[Tensor]:
    return [thing] if isinstance(thing, Tensor) else [one for one in thing if isinstance(one, Tensor)]


def _grad(leaf: Tensor) -> tuple[int, int] | None:
    with torch._C.DisableTorchFunctionSubclass():
        return (id(leaf.grad), leaf.grad._version) if leaf.grad is not None else None


def _is_empty(leaf: Tensor, before: dict[int, tuple[int, int] | None]) -> bool:
    """Whether the gradient that lay there is gone, or was filled with zeros since."""
    now = _grad(leaf)
    if now is None or leaf.grad is None:
        return True
    return now != before.get(id(leaf)) and not leaf.grad.is_sparse and not bool(leaf.grad.count_nonzero())


def _leaves(roots: Any) -> Iterator[Tensor]:
    """The tensors that a backward from `roots` adds to, by the graph."""
    pending = [root.grad_fn for root in roots if isinstance(root, Tensor) and root.grad_fn is not None]
    yield from (root for root in roots if isinstance(root, Tensor) and root.is_leaf and root.requires_grad)
    seen: set[Any] = set()
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            yield leaf
        pending += [parent for parent, _ in node.next_functions if parent is not None]


def _statements(tree: ast.Module) -> tuple[dict[int, int], dict[int, tuple[str, ...]]]:
    """By line, the first line of the simple statement it belongs to; and by that line, the names that it binds."""
    begins: dict[int, int] = {}
    stored: dict[int, tuple[str, ...]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return | ast.Delete):
            begins |= dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), node.lineno)
            names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
            stored[node.lineno] = tuple(names)
    return begins, stored
