"""Terms of a loss that were cut from their graph: they are in its value, and teach nothing (ZG003).

entropy = dist.entropy().mean().item()
loss = policy_loss - 0.01 * entropy        # no bonus for entropy: a number has no gradient
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.cut import Cut, Has
from zerograd.source.definitions import Item, definitions_of
from zerograd.source.leaves import leaves_of
from zerograd.source.lines import between
from zerograd.source.losses import loss_of
from zerograd.source.nodes import below, written
from zerograd.source.paths import path_of
from zerograd.source.reading import File, Reading
from zerograd.source.severed import deposited
from zerograd.source.wording import is_factor, is_term

_SUMS = frozenset({"mean", "sum", "squeeze", "view", "to", "cuda", "reshape"})
_WORDS = ("item()", "detach()", ".data", "no_grad", "ensor(", "from_numpy")
_ENGINE = re.compile(r"accelerator|fabric|engine|manual_backward")
_CURE = "leave its graph on: no item(), detach(), no_grad() or torch.tensor() between the model and the loss"
_CUT = re.compile(r"\.(item|detach|numpy|tolist)\(\)|\.data\b|no_grad|ensor\(|from_numpy")
_TELLS = re.compile(r"\+=|append\(|print|\blog|add_scalar|write|update\(|format|wandb|tqdm|postfix|f\"|f'|#")
_RETURNS = re.compile(r"return\b[^\n]*loss")
_CUTTING = frozenset({"item", "detach", "data", "numpy", "tolist", "tensor", "Tensor", "FloatTensor", "from_numpy"})
_DEPTH, _FEW = 8, 20


class _Term(NamedTuple):
    node: ast.expr
    names: tuple[str, ...]  # that it goes by, the last one first
    minus: bool = False


def detect(file: File) -> Iterator[Finding]:
    if not any(map(file.says, _WORDS)) or file.says("enable_grad") or file.says("set_grad_enabled(True"):
        return
    if not file.says("backward("):
        return
    program = file.program
    texts = [(one, between(file.text, one.node.lineno, one.node.end_lineno or 0)) for one in program.roots.functions]
    asked = [
        (one, text)
        for one, text in texts
        if "backward(" in text or _RETURNS.search(text) or is_term(one.node.name.lower())
    ]
    cutting = {one.node.name for one, text in asked if _cuts_off(text)}
    helped = any(is_term(name.lower()) for name in cutting)  # what a function that is named for it returns
    handed = deposited(file) if any(one.node.name in cutting and _RETURNS.search(text) for one, text in asked) else {}
    module = Reading(program.tree, program.module, program.roots.module, file)
    if module.having(Kind.DEPOSIT) and (helped or _cuts_off(file.text)):
        yield from _inside(module, set())
    for function, text in texts:
        name, trains = function.node.name, function.node in program.relevant and "backward(" in text
        if (trains or name in handed) and (helped or name in cutting):
            block = program.function(function) if trains else ()
            yield from _inside(Reading(function.node, block, function.scope, file), handed.get(name, set()))


def _cuts_off(text: str) -> bool:
    """Whether something is cut from its graph, and not only to be told: total += loss.item()."""
    for found in _CUT.finditer(text):
        begin, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
        if not _TELLS.search(text, begin, end if end >= 0 else len(text)):
            return True
    return False


def _inside(function: Reading, handed: set[Item]) -> Iterator[Finding]:
    """`handed`: which of its results go backward where they are returned to."""
    gone = _deposited(function)
    losses = [*gone, *_returned(function, handed)]
    added = [loss for loss in losses if _may_be_told(loss, function)]
    if not added:
        return
    named = {name for loss in losses if (name := path_of(loss)) is not None}
    cut, told = Cut(function), set[int]()
    sums = [_Sum(loss, function, cut) for loss in added]
    for number, one in enumerate(sums):
        if cut.of(one.loss) is Has.LOST:
            # Leaves may be among others, in a list; but not behind the detach() that the loss itself was given.
            if one.loss in gone and (not leaves_of(function) or _is_detached(one.loss, function)):
                yield _refused(function, one.loss)
            continue
        others = one.live.union(named, *(other.names for place, other in enumerate(sums) if place != number))
        lost = [term for term in one.terms if cut.of(term.node) is Has.LOST]
        if not one.lives or any(not _words(term).isdisjoint(others) for term in lost):
            continue  # loss - loss.detach(): the value of another, with the gradient of this
        for term in lost:
            if id(term.node) not in told and _is_meant(term, function) and not _is_compared(term, one, function):
                told.add(id(term.node))
                yield _told(function, term)


def _is_compared(term: _Term, whole: "_Sum", function: Reading) -> bool:
    """criterion(pruned(x), y) - criterion(whole(x), y).detach(): how much worse it is, by the same measure."""
    others = (other for other in whole.terms if other is not term and not other.minus)
    made = _called(term, function)
    return term.minus and any(not made.isdisjoint(_called(other, function)) for other in others)


def _called(term: _Term, function: Reading) -> set[str]:
    """What makes a term: `model` of model(x).loss.item()."""
    path = path_of(term.node)
    pending = [one.value for one in definitions_of(function).every(path)] if path is not None else [term.node]
    found = set[str]()
    for value in pending:  # it grows on the way
        if isinstance(value, ast.Attribute) or (isinstance(value, ast.Call) and path_of(value.func) is None):
            pending.append(value.value if isinstance(value, ast.Attribute) else value.func)
        elif isinstance(value, ast.Call):
            found.add(path_of(value.func) or "")
    return found


def _is_detached(loss: ast.expr, function: Reading) -> bool:
    """loss = loss.detach() / 4"""
    match loss:
        case ast.Name(id=name):
            reached = definitions_of(function).reaching(name, loss)
            made = reached.here if reached is not None else []
            return bool(made) and all(_is_detached(one.value, function) for one in made)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div()):
            return _is_detached(left, function)
        case ast.Call(func=ast.Attribute(attr=attr)):
            return attr == "detach"
    return False


def _may_be_told(loss: ast.expr, function: Reading) -> bool:
    """Whether it is a sum, or was cut off as a whole: most losses are what a criterion returned."""
    every, pending = definitions_of(function).every, [loss]
    for value in pending:  # it grows on the way
        match value:
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return True
            case ast.BinOp(left=left, right=right):
                pending += [left, right]
            case ast.UnaryOp(operand=inner) | ast.Call(func=ast.Attribute(value=inner)):
                if isinstance(value, ast.Call) and _cuts(value):
                    return True
                pending.append(inner)
            case ast.Call(func=ast.Name()) if _cuts(value):
                return True
            case ast.Name(id=name) if len(pending) < _FEW:
                made = every(name)
                if any(isinstance(one.node, ast.AugAssign) for one in made):
                    return True
                pending += [one.value for one in made]
    return False


def _cuts(value: ast.expr) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr in _CUTTING for part in below(value))


class _Sum:
    """A loss and what it is the sum of. `names`: all that it goes by on the way; `live`: those that have a
    graph; `lives`: whether any term may have one, be it without a name."""

    def __init__(self, loss: ast.expr, function: Reading, cut: Cut) -> None:
        self.loss, self.names = loss, set[str]()
        self.terms = list(_terms(_Term(loss, ()), function, cut, self.names))
        self.names |= {name for term in self.terms if (name := path_of(term.node)) is not None}
        living = [term for term in self.terms if cut.of(term.node) is Has.MAYBE]
        lost = {path_of(term.node) for term in self.terms} - {path_of(term.node) for term in living}
        self.live, self.lives = self.names - lost, bool(living)


def _told(function: Reading, term: _Term) -> Finding:
    name = term.names[0] if term.names else written(term.node)
    found = note(REGISTRY["ZG003"], function.site(term.node), certain=True, step=name)
    return found._replace(
        message=f"{name} is a term of the loss and has no graph: backward() learns nothing from it",
        cure=_CURE,
    )


def _refused(function: Reading, loss: ast.expr) -> Finding:
    found = note(REGISTRY["ZG003"], function.site(loss), certain=True, step=written(loss))
    return found._replace(
        message=f"{written(loss)} has no graph: backward() has nothing to go through, and says so",
        cure=_CURE,
    )


def _deposited(function: Reading) -> list[ast.expr]:
    calls = [act.node for act in function.having(Kind.DEPOSIT) if isinstance(act.node, ast.Call)]
    return [loss for call in calls if (loss := loss_of(call)) is not None and not _is_gradient(loss, call)]


def _is_gradient(given: ast.expr, call: ast.Call) -> bool:
    """x.backward(gradient), layer.backward(loss_grad): not the loss of accelerator.backward(loss)."""
    return given in call.args and _ENGINE.search(written(call.func).lower()) is None


def _returned(function: Reading, handed: set[Item]) -> Iterator[ast.expr]:
    """The losses that go backward where they are returned to."""
    for back in function.of(ast.Return) if handed else ():
        several = back.value.elts if isinstance(back.value, ast.Tuple) else []
        yield from (value for place, value in enumerate(several) if place in handed)
        if None in handed and back.value is not None and not several:
            yield back.value


def _terms(term: _Term, function: Reading, cut: Cut, through: set[str]) -> Iterator[_Term]:
    """What a loss is the sum of, as far as it can be read. `through`: the names that were followed."""
    node, names, minus = term
    if len(names) > _DEPTH or cut.of(node) is not Has.MAYBE:
        yield _Term(_bare(node, cut), names, minus)
        return
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            yield from _terms(_Term(left, names[:0], minus), function, cut, through)
            yield from _terms(_Term(right, names[:0], minus ^ isinstance(op, ast.Sub)), function, cut, through)
        case ast.UnaryOp(operand=operand, op=ast.USub()):
            yield from _terms(_Term(operand, names, not minus), function, cut, through)
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if cut.of(left) is not Has.MAYBE:
            yield from _terms(_Term(right, names, minus), function, cut, through)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right) if cut.of(right) is not Has.MAYBE:
            yield from _terms(_Term(left, names, minus), function, cut, through)
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in _SUMS and path_of(value) != "torch":
            yield from _terms(_Term(value, names, minus), function, cut, through)
        case ast.Name() if (parts := _made_of(node, function)) is not None:
            through.add(node.id)
            for part in parts:
                yield from _terms(_Term(part, (node.id, *names), minus), function, cut, through)
        case _:
            yield term


def _bare(node: ast.expr, cut: Cut) -> ast.expr:
    """0.01 * entropy: the entropy."""
    match node:
        case ast.UnaryOp(operand=inner):
            return _bare(inner, cut)
        case ast.BinOp(left=factor, op=ast.Mult(), right=inner) if cut.of(factor) is Has.NOTHING:
            return _bare(inner, cut)
        case ast.BinOp(left=inner, op=ast.Mult() | ast.Div(), right=factor) if cut.of(factor) is Has.NOTHING:
            return _bare(inner, cut)
    return node


def _made_of(name: ast.Name, function: Reading) -> list[ast.expr] | None:
    """loss = a, and loss += b: what a name was made of, if it was in one way."""
    reached = definitions_of(function).reaching(name.id, name)
    if reached is None or not reached.certain or any(one.each or one.at is not None for one in reached.here):
        return None
    begun = [one for one in reached.here if not one.adds]
    added = [one for one in reached.here if one.adds]
    sums = all(isinstance(one.node, ast.AugAssign) and isinstance(one.node.op, ast.Add | ast.Sub) for one in added)
    itself = any(isinstance(part, ast.Name) and part.id == name.id for one in begun for part in below(one.value))
    return [one.value for one in (*begun, *added)] if len(begun) == 1 and sums and not itself else None


def _words(term: _Term) -> set[str]:
    return {*term.names, *(path for part in below(term.node) if (path := path_of(part)) is not None)}


def _is_meant(term: _Term, function: Reading) -> bool:
    """Whether it is there to be learned from: named for it, or made of what is."""
    words = _words(term)
    name = term.names[0] if term.names else path_of(term.node) or ""
    made = [one.value for word in words for one in definitions_of(function).every(word)]
    said = [name, *words, *(maker for value in made for maker in _makers(value))]
    return not is_factor(name.lower()) and any(is_term(word.lower()) for word in said)


def _makers(value: ast.expr) -> Iterator[str]:
    """What it is computed of and by, but not what is handed to whom it calls."""
    for part in below(value) if not isinstance(value, ast.Call) else (value.func,):
        if isinstance(part, ast.Call):
            yield from _makers(part)
        elif (path := path_of(part)) is not None:
            yield path

