"""Optimizers that are made for a module, and that nobody ever steps while losses go through it (ZG008).

optimizer_G, optimizer_D = Adam(G.parameters()), Adam(D.parameters())
...
loss_D.backward()            # and no optimizer_D.step() anywhere
loss_G.backward()
optimizer_G.step()

Told only beside another optimizer that steps, of which it is known that it holds none of the same modules. Silent where
anybody gets the optimizer who may step it, where modules are frozen or made a part of one another, and where gradients
are read: somebody may step by hand.
"""

import ast
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.losses import loss_of
from zerograd.source.graphs.ancestry import Ancestry
from zerograd.source.lowering.calls import site_of
from zerograd.source.lowering.skeleton import Act
from zerograd.source.names.arguments import arguments
from zerograd.source.names.freezing import freezes
from zerograd.source.names.opaque import is_familiar
from zerograd.source.names.roles import makes_optimizer
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.lines import within
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.apart import gives, overlap
from zerograd.source.values.bonds import Bonds
from zerograd.source.values.callers import called
from zerograd.source.values.glances import Parents, is_only_asked
from zerograd.source.values.reading import File, Reading

_MAKERS = ("Adam", "SGD", "RMSprop", "Adagrad", "Adadelta")
_MAKES = pattern(r"(?:Adam\w{0,3}|SGD|RMSprop|Adagrad|Adadelta)\(")
_NAMED = pattern(r"\s*((?:self\.)?\w+)\s*=\s*[\w.]*$")
_ASKED = frozenset({"zero_grad", "param_groups", "state_dict", "load_state_dict", "defaults"})
_SPACES = pattern(r"(?<![.\w])(locals|globals|vars|eval|exec|getattr)\(|__dict__|^\s*(global|nonlocal) ", re.MULTILINE)
_MESSAGE = "{optimizer} never steps, although {modules} gets gradients"
_CURE = "call {optimizer}.step() after that backward()"


class _Home(NamedTuple):
    """Where an optimizer is known: a function, the module with the functions that see its names, a class."""

    functions: list[Reading]
    cls: Scope | None = None


def detect(file: File) -> Iterator[Finding]:
    if not file.says(".backward(") or file.reads_gradients:
        return
    names = _made_in(file.text)
    homes = ((name, home) for name in names for home in _homes(file, name)) if len(names) > 1 else ()
    for place, (name, home) in enumerate(homes):
        if place == 0 and (freezes(file.text) or _SPACES.search(file.text)):
            return  # asked of few files: these patterns look at every line
        yield from _forgotten(file, name, home)


def _made_in(text: str) -> list[str]:
    """The names that look as if an optimizer of torch's were bound to them."""
    places = sorted(at for word in _MAKERS for at in _places(word, text) if _MAKES.match(text, at) is not None)
    heads = (text[text.rfind("\n", 0, at) + 1 : at] for at in places)
    return list(dict.fromkeys(one[1] for one in map(_NAMED.match, heads) if one is not None))


def _places(word: str, text: str) -> Iterator[int]:
    """Where a word stands: much faster than a pattern of several."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _homes(file: File, name: str) -> Iterator[_Home]:
    """Where a name is bound, and nothing is seen to step it."""
    roots = file.program.roots
    functions = [one for one in roots.functions if name in within(file.text, one.node)]
    binding = [one for one in functions if name in one.scope.assigned or _is_of_class(name, one)]
    if name.startswith("self."):
        for cls in () if file.says(f"{name}.step") else dict.fromkeys(one.scope.owner for one in binding):
            if cls is not None and all(map(is_familiar, cls.lineage())):
                kin = [one for one in roots.functions if _are_kin(cls, one.scope.owner)]
                yield _Home([_reading(one, file) for one in kin], cls)
        return
    for one in binding:
        if f"{name}.step" not in within(file.text, one.node):
            yield _Home([_reading(one, file)])
    if name in roots.module.assigned and not file.says(f"{name}.step"):
        module = Reading(file.program.tree, file.program.module, roots.module, file)
        yield _Home([module, *(_reading(one, file) for one in roots.functions if not one.scope.owns(name))])


def _is_of_class(name: str, function: Function) -> bool:
    return function.scope.owner is not None and name in function.scope.owner.assigned


def _are_kin(cls: Scope, other: Scope | None) -> bool:
    return other is not None and (other in cls.lineage() or cls in other.lineage())


def _reading(function: Function, file: File) -> Reading:
    block = file.program.function(function) if function.node in file.program.relevant else ()
    return Reading(function.node, block, function.scope, file)


def _forgotten(file: File, name: str, home: _Home) -> Iterator[Finding]:
    made, mine = _made(name, home)
    if made is None:
        return
    steps = {act.slot or "" for one in home.functions for act in one.having(Kind.CONSUME)}
    others = [_made(slot, home)[1] for slot in steps]
    if not others or name in steps or not all(others) or any(overlap(mine, one) for one in others):
        return
    theirs = frozenset[str]().union(*others)
    for function in home.functions if _is_alone(file, name, home) else ():
        deposit = deposit_through(function, mine)
        # A loop that trains none of what the others hold has a worse fault than this, which is told there (ZG003).
        if deposit is not None and deposit_through(function, theirs) and not _are_bound(home, mine, theirs):
            related, modules = (Related(deposit.site, "computes the gradients"),), " and ".join(sorted(mine))
            told = {"deposit": deposit.what, "parameters": modules}
            found = note(REGISTRY["ZG008"], site_of(made, file.path), certain=True, related=related, **told)
            message = _MESSAGE.format(optimizer=name, deposit=deposit.what, modules=modules)
            yield found._replace(message=message, cure=_CURE.format(optimizer=name))
            return


def _made(name: str, home: _Home) -> tuple[ast.Assign | None, frozenset[str]]:
    """Where it is made first, and the modules whose parameters it was given; none if it may be anything else."""
    assigned = [(node, one) for one in home.functions for node in one.of(ast.Assign) if _binds(node, name)]
    made = [(node, one) for node, one in assigned if not is_none(node.value)]
    held = {frozenset(_given(node, one)) for node, one in made}
    return (made[0][0], held.pop()) if len(held) == 1 and frozenset() not in held else (None, frozenset())


def _binds(node: ast.Assign, name: str) -> bool:
    return any(path_of(part) == name for target in node.targets for part in below(target))


def is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _given(node: ast.Assign, function: Reading) -> Iterator[str]:
    """`X` of every X.parameters() that a new optimizer gets."""
    call = node.value
    if len(node.targets) != 1 or not isinstance(call, ast.Call) or not makes_optimizer(call, function.scope):
        return
    given = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "params")]
    for part in below(given[0]) if len(given) == 1 else ():
        match part:
            case ast.Call(func=ast.Attribute(value=value, attr="parameters"), args=[], keywords=[]):
                yield (path_of(value) or "?").partition("[")[0]  # model[0]: of all that the list has


def _is_alone(file: File, name: str, home: _Home) -> bool:
    """Whether everything that is done with it is seen, and none of it could step."""
    if home.cls is not None:
        attribute = name.removeprefix("self.")
        uses = [one for one in below(file.program.tree) if isinstance(one, ast.Attribute) and one.attr == attribute]
        if any(path_of(one) != name for one in uses) or _is_known_beside(file, attribute):
            return False
    elif isinstance(home.functions[0].node, ast.Module):
        return _is_asked(name, home.functions[0])
    return all(_is_asked(name, one) for one in home.functions)


def _is_asked(name: str, function: Reading) -> bool:
    scope = function.scope

    def asks(node: ast.expr, parents: Parents) -> bool:
        parent = parents.get(node)
        if isinstance(parent, ast.Attribute):
            return parent.attr in _ASKED
        call = parent if isinstance(parent, ast.Call) else None
        return call is not None and scope.dotted(path_of(call.func) or "").startswith("torch.optim.lr_scheduler.")

    return is_only_asked(name, function.node, scope, asks)


def _is_known_beside(file: File, attribute: str) -> bool:
    """Whether a file that knows this one names the attribute."""
    stem = re.escape(os.path.splitext(os.path.basename(file.path))[0])
    knows, names = re.compile(rf"\b{stem}\b"), re.compile(rf"\.{attribute}\b")
    return file.beside is None or any(names.search(text) and knows.search(text) for text in file.beside)


def deposit_through(function: Reading, modules: frozenset[str]) -> Act | None:
    """A backward whose loss is seen to go through one of these modules; first one that calls it right here."""
    ancestry: Ancestry | None = None
    handed: Act | None = None
    for act in function.having(Kind.DEPOSIT):
        loss = loss_of(act.node) if isinstance(act.node, ast.Call) else None
        if loss is None:
            continue
        ancestry = ancestry or Ancestry(function)
        calls = [one for one in ancestry.of(loss) if isinstance(one, ast.Call)]
        if any(_is_part(path_of(one.func), modules) for one in calls):
            return act
        if any(_is_run_by(one, function, modules) for one in calls):
            handed = act  # of several that one function makes, the last: the first is mostly the main one
    return handed


def _is_part(path: str | None, modules: frozenset[str]) -> bool:
    """D(x), D.features(x), model(x) of model.D"""
    return path not in (None, "self") and overlap(frozenset({path or ""}), modules)


def _is_run_by(call: ast.Call, function: Reading, modules: frozenset[str]) -> bool:
    """losses(x, discriminator=D), of a function that calls it."""
    one = called(path_of(call.func) or "", function.scope)
    names = {name for name, given in arguments(call, one) if _is_part(path_of(given), modules)} if one else set()
    if one is None or not names:
        return False
    inside = Reading(one.node, (), one.scope, function.file)
    return any(path_of(part.func) in names and not inside.without_grad(part) for part in inside.of(ast.Call))


def _are_bound(home: _Home, mine: frozenset[str], theirs: frozenset[str]) -> bool:
    """Whether what it holds may be a part of what another optimizer holds, or shares parts with it."""
    if home.cls is None:
        bonds = Bonds(home.functions[0])
        roots = {one.partition(".")[0] for one in mine} - {one.partition(".")[0] for one in theirs}
        return any(bonds.are_bound(root, theirs) for root in roots)
    assigned = [node for one in home.functions for node in one.of(ast.Assign)]
    return any(gives(node, module) for node in assigned for module in mine | theirs)
