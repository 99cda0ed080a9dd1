"""What a call makes of the graphs that it is given: it keeps them, it cuts them off, or it cannot be read."""

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from enum import IntEnum

from zerograd.source.graphs.criteria import is_weightless
from zerograd.source.graphs.leaves import makes_leaf
from zerograd.source.graphs.revived import are_idle, copied_by
from zerograd.source.names.arguments import arguments
from zerograd.source.names.scopes import Function, Role
from zerograd.source.text.nodes import holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import CUTS, SAME, SMOOTH, is_model
from zerograd.source.values.callers import called_or_read
from zerograd.source.values.definitions import Definitions, Item
from zerograd.source.values.reading import Reading

_CUTS = frozenset({"detach", "item", "numpy", "tolist", "argmax", "argmin", "argsort", "long", "int", "bool", "byte"})
# Flat wherever they are differentiable: torch.round(x) has a gradient, and it is 0.
_FLAT = frozenset({"round", "floor", "ceil", "trunc", "sign"})
_ENDS = frozenset({"detach", "item", "numpy", "tolist"})  # nobody else is asked for these
_COMPARES = frozenset({"eq", "ne", "gt", "ge", "lt", "le"})
_COPIES = frozenset({"tensor", "from_numpy", "LongTensor", "IntTensor", "BoolTensor", "ByteTensor"})
_CONSTRUCTORS = frozenset({"Tensor", "FloatTensor", "DoubleTensor"})  # of a tensor they make another with its graph
_PLACES = frozenset({"max", "min", "topk", "sort"})  # with a dimension they return values, and where these were
MAKES = frozenset(
    {"zeros", "ones", "rand", "randn", "full", "arange", "zeros_like", "ones_like", "rand_like", "randn_like"}
)
_OF_TENSORS = (
    SMOOTH
    | CUTS
    | frozenset(
        {"max", "min", "prod", "var", "std", "matmul", "mm", "bmm", "gather", "scatter", "masked_fill", "index_select"}
        | {"chunk", "split", "repeat_interleave", "cumsum", "clip", "clamp_min", "where", "expand_as", "view_as", "get"}
        | {"masked_select", "bernoulli", "type", "pop", "gt", "lt", "ge", "le"}
    )
)
_DIFFERS = pattern(r"^torch\.(nn\.functional\.)?[a-z]\w*$")
_WEIGHTLESS = frozenset({"Sigmoid", "Tanh", "ReLU", "LeakyReLU", "Softmax", "LogSoftmax", "Softplus", "Flatten"})
_ARRAYS = frozenset({"scipy", "cv2", "skimage", "sklearn"})
_INTEGER = pattern(r"\b(u?int\d*|long|bool|short|(Long|Int|Bool|Byte)Tensor)\b")
_SECOND = 4  # where autograd.grad() is told of create_graph
_PLAIN = pattern(r"(^|\.)(staticmethod|classmethod|no_grad|inference_mode|script|script_method|autocast)$")
_CLASS = pattern(r"^torch\.nn\.(\w+\.)*[A-Z]\w*$")
_OPENS = frozenset({"load", "compile", "jit", "hub"})  # whatever they give is no function of what they are given


class Has(IntEnum):
    """What a value has of a graph; of several that are put together, the most."""

    NOTHING = 0  # a number, a setting, data
    LOST = 1  # the graph that it had
    MAYBE = 2


def most(several: Iterable[Has]) -> Has:
    """The most that any of them has; once one may have a graph, the others are not asked."""
    found = Has.NOTHING
    for has in several:
        found = max(found, has)
        if found is Has.MAYBE:
            break
    return found


class Makers(ABC):
    """The calls of one function."""

    _function: Reading
    _deep: int
    _names: Definitions
    _quiet: list[ast.AST]

    @abstractmethod
    def of(self, node: ast.expr, at: Item = None) -> Has:
        """What an expression has; `at`: its item at this place."""

    @abstractmethod
    def _without(self, node: ast.expr) -> Has:
        """What is left of a value when its graph is cut off."""

    @abstractmethod
    def _is_learned(self, node: ast.expr) -> bool:
        """Whether it is made of what a model returns."""

    @abstractmethod
    def _revives(self) -> Has:
        """Remembers that something was made a leaf again: backward() will not complain."""

    @abstractmethod
    def _inside(self, function: Function, given: Mapping[str, ast.expr]) -> "Makers":
        """Another function, as a call in this one runs it."""

    def _most(self, nodes: Iterable[ast.expr]) -> Has:
        return most(self.of(node) for node in nodes)

    def _is_made(self, call: ast.Call, at: Item) -> Has:
        func, path = call.func, path_of(call.func)
        if makes_leaf(call):
            return self._revived(call)
        given = [*call.args, *(one.value for one in call.keywords)]
        if isinstance(func, ast.Attribute) and self._cuts(call, func):
            return self._without(func.value)
        if any(holds(block, call) for block in self._quiet):
            return Has.LOST if self._is_learned(call) else Has.NOTHING
        dotted = self._dotted(path) if path is not None else ""
        if dotted == "torch.autograd.grad" and not _is_differentiable(call):
            return Has.LOST if self._is_learned(call) else Has.NOTHING
        if dotted.startswith("torch.") and not dotted.startswith("torch.sparse."):  # of values with a graph
            made = self._of_torch(call, dotted.rpartition(".")[2], at)
            if made is not None:
                return made
        root = dotted.partition(".")[0]
        if root in _ARRAYS:
            return max(map(self._without, given), default=Has.NOTHING)
        if root in ("numpy", "math") or dotted in ("float", "int", "len"):
            return max((Has.LOST if self.of(one) is Has.LOST else Has.NOTHING for one in given), default=Has.NOTHING)
        if _keeps(dotted) or self._is_criterion(func):
            packed = len(given) > 1 and all(isinstance(one, ast.Attribute) and one.attr == "data" for one in given[:2])
            return Has.MAYBE if packed else self._most(given)  # both .data: those of two PackedSequences
        if path is not None and given and is_weightless(path, self._function):
            found = self._most(given)
            if found is not Has.MAYBE:  # else it may cut off what it is given
                return found
        callee = called_or_read(path, self._function) if path is not None else None
        if callee is not None:
            return self._returned(callee, call, at)
        if isinstance(func, ast.Attribute) and not dotted.startswith("torch."):
            return self._asked(func, given)
        return Has.MAYBE

    def _revived(self, call: ast.Call) -> Has:
        """A leaf, to compute with; unless it was made of what had a graph, and nobody asks for its gradient."""
        copied = copied_by(call, self._dotted)
        lost = copied is not None and self._without(copied) is Has.LOST
        return self._revives() if lost and are_idle(self._function) else Has.MAYBE

    def _asked(self, func: ast.Attribute, given: list[ast.expr]) -> Has:
        """What a method returns. Of something without a graph only tensors' own are known: task.loss(x) may."""
        value = self.of(func.value)
        if func.attr in SAME or value is Has.MAYBE:
            return value
        known = value is Has.LOST or func.attr in _OF_TENSORS
        return max(value, self._most(given)) if known else Has.MAYBE

    def _cuts(self, call: ast.Call, func: ast.Attribute) -> bool:
        """x.detach(), x.argmax(1), x.gt(0.5), x.to(torch.long): a method of the value that goes in."""
        whole = func.attr in _CUTS | _FLAT or (func.attr in _COMPARES and len(call.args) == 1)
        casts = func.attr in ("to", "type") and any(_INTEGER.search(written(one)) for one in call.args[:1])
        if not whole and not casts:
            return False
        owner = path_of(func.value) or ""
        if self._dotted(owner).partition(".")[0] in ("torch", "numpy"):
            return False
        return func.attr in _ENDS or (not self._is_object(owner) and self._may_be_tensors(call, func))

    def _is_object(self, path: str) -> bool:
        """self.gt(x), net.argmax(x): one of a module's own, that is called as tensors call theirs."""
        made = self._function.scope.lookup(path)
        module = made is not None and (made.role is Role.INSTANCE or _CLASS.search(made.made_by))
        return path == "self" or bool(module) or is_model(path)

    def _may_be_tensors(self, call: ast.Call, func: ast.Attribute) -> bool:
        """Whether it is given what a tensor's own method takes: argmax(1), and no tensor with a graph."""
        return func.attr in _COMPARES or all(self.of(one) is not Has.MAYBE for one in call.args)

    def _of_torch(self, call: ast.Call, last: str, at: Item) -> Has | None:
        """What torch itself makes anew; None where it differentiates, or cannot be told."""
        if last in MAKES:
            return Has.NOTHING
        first = call.args[0] if call.args else None
        if any(one.arg is None for one in call.keywords) and self._function.file.says("requires_grad"):
            return Has.MAYBE  # torch.tensor(x, **as_leaf)
        if first is not None and last == "Variable":
            return self.of(first) if len(call.args) == 1 else Has.MAYBE
        listed = last in _CONSTRUCTORS and not (first is not None and self._may_be_tensor(first))
        places = last in _PLACES and at == 1 and _names_dimension(call)
        if last in _COPIES | _COMPARES | _CUTS | _FLAT or listed or places:
            return max((self._without(one) for one in call.args), default=Has.NOTHING)
        return Has.MAYBE if last in _CONSTRUCTORS else None

    def _may_be_tensor(self, node: ast.expr) -> bool:
        """Whether it may be one that has a graph, not a list of them or an array."""
        made = [one.value for one in self._names.every(path_of(node) or "") if not one.adds]
        listed = [isinstance(one, ast.List | ast.ListComp) for one in made or [node]]
        return not all(listed) and self.of(node) is Has.MAYBE

    def _returned(self, callee: Function, call: ast.Call, at: Item) -> Has:
        """What a function of this project returns, told by what it is given."""
        nodes = self._function.file.program.nodes(callee.node)
        values = [back.value for back in nodes.of(ast.Return)]
        unread = any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
        if not self._deep or not values or None in values or nodes.of(ast.Yield) or unread or not _is_readable(callee):
            return Has.MAYBE
        inside = self._inside(callee, dict(arguments(call, callee)))
        return most(inside.of(value, at) for value in values if value is not None)

    def _dotted(self, path: str) -> str:
        """With what it was imported as, unless the function has a value of that name: from math import dist."""
        return path if self._names.every(path.partition(".")[0]) else self._function.scope.dotted(path)

    def _is_criterion(self, func: ast.expr) -> bool:
        """nn.MSELoss()(a, b), or what one was assigned to, or an activation: it has no weights of its own."""
        if isinstance(func, ast.Call):
            dotted = self._dotted(path_of(func.func) or "")
        else:
            made = self._function.scope.lookup(path_of(func) or "")
            dotted = made.made_by if made is not None and made.role is Role.TORCH else ""
        last = dotted.rpartition(".")[2]
        return dotted.startswith("torch.nn.") and (
            last in _WEIGHTLESS or (last.endswith(("Loss", "Pool1d", "Pool2d", "Pool3d")) and "Adaptive" not in last)
        )


def _is_differentiable(call: ast.Call) -> bool:
    """grad(..., create_graph=True), as far as can be read: without it a gradient is a constant."""
    told = [one.value for one in call.keywords if one.arg in ("create_graph", None)]
    told += [one for place, one in enumerate(call.args) if place == _SECOND or isinstance(one, ast.Starred)]
    return any(not isinstance(one, ast.Constant) or bool(one.value) for one in told)


def _is_readable(callee: Function) -> bool:
    """Whether what it says is what happens: nobody is around it, and no backward() of its own stands beside it."""
    around = [path_of(one.func if isinstance(one, ast.Call) else one) or "" for one in callee.node.decorator_list]
    owner = callee.scope.owner
    by_hand = owner is not None and owner.method("backward") is not None
    return not callee.is_abstract and not by_hand and all(map(_PLAIN.search, around))


def _names_dimension(call: ast.Call) -> bool:
    """torch.max(x, 1), torch.sort(x, dim=-1); of torch.max(a, b) every item has a graph."""
    second = call.args[1] if len(call.args) > 1 else None
    second = second.operand if isinstance(second, ast.UnaryOp) else second
    return isinstance(second, ast.Constant) or any(one.arg in ("dim", "k") for one in call.keywords)


def _keeps(dotted: str) -> bool:
    """torch.mean, F.mse_loss, sum: what they return has the graphs of what they are given."""
    plain = _DIFFERS.match(dotted) is not None and dotted.rpartition(".")[2] not in _OPENS
    return plain or dotted in ("sum", "abs", "max", "min")
