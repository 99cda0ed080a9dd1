"""Every leaf that a backward can reach: those in its graph, and those behind code that its nodes will run.

A checkpoint hides the parameters it used; they are found through the function it will run again, the way that function
finds them itself: closure, globals, defaults, arguments, and the attributes it names.
"""

import types
from collections.abc import Iterable, Iterator
from functools import partial

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction
from torch.autograd.graph import Node, get_gradient_edge

with torch.inference_mode(mode=False):  # whatever mode we are imported in
    # AccumulateGrad, the node that deposits. torch has no public name for it.
    LEAF = type(get_gradient_edge(torch.zeros((), device="cpu", requires_grad=True)).node)

_Lead = tuple[object, frozenset[str]]
_NOTHING: frozenset[str] = frozenset()
_REACH = 10_000  # things looked at per backward: a data set in a closure must not cost more than the backward
_LONG = 1_000  # a longer list holds data, not networks


def runs_foreign_code(kind: type) -> bool:
    """Whether the backward of such a node is Python that torch did not write, or only wraps."""
    if not issubclass(kind, BackwardCFunction):
        return False
    home = getattr(getattr(kind, "_forward_cls", None), "__module__", "")
    # Custom operators are among torch's: somebody else wrote their backward, to be traced, and .backward() cannot be.
    return not home.startswith("torch.") or home == "torch.utils.checkpoint"


def leaves(loss: Tensor) -> Iterator[Tensor]:
    """Each leaf once."""
    roots: list[object] = []
    for node in _nodes(loss):
        if type(node) is LEAF:
            roots.append(node.variable)  # type: ignore[attr-defined]
        elif runs_foreign_code(type(node)):
            function = getattr(node, "_forward_cls", None)
            roots += [*vars(node).values(), getattr(function, "backward", None)]
    found = {id(leaf): leaf for leaf in _behind(roots)}
    yield from found.values()


def _nodes(loss: Tensor) -> Iterator[Node]:
    stack = [loss.grad_fn] if loss.grad_fn is not None else []
    seen = set(stack)
    while stack:
        node = stack.pop()
        yield node
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)


def _behind(roots: Iterable[object]) -> Iterator[Tensor]:
    """The leaves among things and what they lead to. A thing goes with the names that the code which found it uses."""
    todo = [(root, _NOTHING) for root in roots]
    seen: dict[tuple[int, frozenset[str]], object] = {}  # holds what it has seen, so that no id is used again
    while todo:
        thing, names = todo.pop()
        if isinstance(thing, Tensor):
            if thing.is_leaf and thing.requires_grad:
                yield thing
        elif (id(thing), names) not in seen and len(seen) < _REACH:
            seen[id(thing), names] = thing
            if isinstance(thing, torch.nn.Module):
                yield from thing.parameters()
            todo += _next(thing, names)


def _next(thing: object, names: frozenset[str]) -> list[_Lead]:
    match thing:
        case types.FunctionType():
            return _used_by(thing)
        case types.MethodType():
            return [(thing.__func__, _NOTHING), (thing.__self__, _names(thing.__func__))]
        case partial():
            return [(part, names) for part in (thing.func, *thing.args, *thing.keywords.values())]
        case dict():
            return [(part, names) for part in thing.values()] if len(thing) <= _LONG else []
        case list() | tuple() | set() | frozenset():
            return [(part, names) for part in thing] if len(thing) <= _LONG else []
        case torch.nn.Module():
            return [lead for part in thing.modules() for lead in _attributes(part, names | {"forward"})]
        case type():
            return []
        case _:
            return _attributes(thing, names | {"__call__"})


def _used_by(function: types.FunctionType) -> list[_Lead]:
    """What a function closes over, has for defaults, and finds in its globals.

    inspect.getclosurevars would do, did it not stop at the lambdas inside and raise where a cell is still empty.
    """
    if _is_torchs(function):
        return []
    names = _names(function)
    used = [function.__globals__[name] for name in names if name in function.__globals__]
    used += [cell.cell_contents for cell in function.__closure__ or () if cell != types.CellType()]
    used += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return [(thing, names) for thing in used]


def _attributes(owner: object, names: frozenset[str]) -> list[_Lead]:
    """What the owner holds under these names, its methods among them, and what those name in turn."""
    methods: list[types.FunctionType] = []
    if not _is_torchs(type(owner)):
        fresh = names
        while fresh:
            found = [method for name in fresh if (method := _method(type(owner), name)) is not None]
            methods += found
            fresh = _NOTHING.union(*map(_names, found)) - names
            names |= fresh
    held: dict[str, object] = getattr(owner, "__dict__", {})
    return [(held[name], names) for name in names if name in held] + [(method, _NOTHING) for method in methods]


def _method(kind: type, name: str) -> types.FunctionType | None:
    """By the classes' own tables: getattr() would run descriptors, which is to run somebody's code."""
    for owner in kind.__mro__:
        if name in vars(owner):
            raw = vars(owner)[name]
            method = raw.fget if isinstance(raw, property) else getattr(raw, "__func__", raw)
            return method if isinstance(method, types.FunctionType) and not _is_torchs(method) else None
    return None


def _is_torchs(thing: object) -> bool:
    return (getattr(thing, "__module__", None) or "").partition(".")[0] == "torch"


def _names(function: object) -> frozenset[str]:
    """Every name in a function's code, and in the lambdas and comprehensions inside it."""
    codes, names = [getattr(function, "__code__", None)], set[str]()
    while codes:
        code = codes.pop()
        if code is not None:
            names.update(code.co_names)
            codes += [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return frozenset(names)
