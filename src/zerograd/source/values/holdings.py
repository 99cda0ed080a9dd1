"""Which modules an optimizer holds, as the function that steps it names them.

Told by its construction: here, in the class, in a list of several, or in a function that makes several and gives them
back together; or by the module that it is a part of. Of an optimizer that was handed over only its name tells, and that
its own objective goes through the module it names:

    def train(G, D, opt_g, opt_d): ...
"""

import ast
from collections.abc import Iterator

from zerograd.source.names.roles import modules_of, role_of
from zerograd.source.names.scopes import Binding, Function, Role, Scope
from zerograd.source.text.nodes import Nodes, below
from zerograd.source.text.paths import path_of
from zerograd.source.text.stems import is_plain, named_alike
from zerograd.source.values.definitions import Definition, definitions_of
from zerograd.source.values.reading import Reading
from zerograd.source.walking.objectives import Deposits

_Held = frozenset[str]
_NONE: _Held = frozenset()
_PARTS = frozenset({"optimizer", "optim", "opt"})


def held_by(slot: str, function: Reading, at: ast.AST | None = None) -> _Held:
    """The modules that an optimizer was made over, by their names here; none if nobody can tell. `at`: where it is
    used; else by all that has its name."""
    key = function.node, slot, at
    if key not in function.file.held:  # many ask
        function.file.held[key] = _held_by(slot, function, at)
    return function.file.held[key]


def _held_by(slot: str, function: Reading, at: ast.AST | None) -> _Held:
    scope, nodes = function.scope, function.nodes
    binding = scope.lookup(slot)
    if binding is None:
        return _as_part(slot, nodes) or _of_each(slot, scope, nodes) or _made_together(slot, scope, nodes)
    made = _made_anew(slot, function, at) if slot.isidentifier() else []
    if at is not None and () in made:
        return _NONE
    over = _NONE.union(*made or [binding.over])
    if slot not in scope.parameters or slot in scope.bindings:
        return over
    # Known by its name alone, from the function around: it may call the same modules otherwise.
    return over if {path.partition(".")[0] for path in over} <= set(scope.parameters) else _NONE


def _made_anew(slot: str, function: Reading, at: ast.AST | None) -> list[tuple[str, ...]]:
    """What each of several optimizers holds that have one name, one after the other: those that are made where the use
    is reached from; or if something else is, as of amp.initialize(model, optimizer), all of them."""
    file, names = function.file, definitions_of(function)
    every = names.every(slot)
    if not every and not function.scope.owns(slot):
        every = definitions_of(Reading(file.program.tree, (), file.program.roots.module, file)).every(slot)
    if len(every) < 2:
        return []
    reached = names.reaching(slot, at) if at is not None else None
    here = [*reached.here, *(() if reached.certain else reached.around)] if reached is not None else []
    return _overs(here, function) or _overs(every, function)


def _overs(made: list[Definition], function: Reading) -> list[tuple[str, ...]]:
    known = [role_of(one.value, function.scope) for one in made]
    return [one.over for one in known if one is not None and one.role is Role.OPTIMIZER]


def with_wholes(modules: _Held, theirs: _Held) -> _Held:
    """Those, and what they are parts of: of model(x) nobody says which parts it fills, but an optimizer that holds
    several, where no other holds any, is the model's."""
    owners = [path.rpartition(".")[0] for path in modules]
    whole = {owner for owner in owners if owner not in ("", "self") and owners.count(owner) > 1}
    return modules | {
        owner for owner in whole if not any(one == owner or one.startswith(f"{owner}.") for one in theirs)
    }


def supposed(slot: str, scope: Scope, deposits: Deposits) -> _Held:
    """Of one that was handed over, or made of who knows what, the module that it has its name from, if each of its
    objectives goes through it. The only one that is called `model` is that of the only one called `optimizer`."""
    binding = scope.lookup(slot)
    if (binding is not None and binding.over) or "[" in slot:
        return _NONE
    reached = _NONE.union(*(one.reaches for one in deposits.values()))
    slots = _NONE.union(*(one.serves | one.beside for one in deposits.values()))
    plain = is_plain(slot) and [one for one in slots if is_plain(one)] == [slot]
    found = {one for one in reached if (is_plain(one) if plain else named_alike(one, slot))}
    own = [one.reaches for one in deposits.values() if slot in one.serves]
    return frozenset(found) if len(found) == 1 and own and all(found <= reaches for reaches in own) else _NONE


def _as_part(slot: str, nodes: Nodes) -> _Held:
    """critic.optimizer, where the critic is called: its own network, and no manager of others."""
    owner, _, name = slot.rpartition(".")
    part = name in _PARTS and owner not in ("", "self")
    return frozenset({owner} if part and any(path_of(call.func) == owner for call in nodes.of(ast.Call)) else ())


def _of_each(slot: str, scope: Scope, nodes: Nodes) -> _Held:
    """opts = [Adam(net.parameters()) for net in nets]: opts[i] holds nets[i]."""
    path = slot.removesuffix("[*]")
    for made, where in _assigned(path, scope, nodes) if path != slot else ():
        match made:
            case ast.Assign(targets=[target], value=ast.ListComp(elt=ast.Call() as each, generators=[over])):
                binding = role_of(each, where) if path_of(target) == path else None
                if binding is not None and binding.role is Role.OPTIMIZER and each.args:
                    element, many = path_of(over.target), path_of(over.iter)
                    held = modules_of(each.args[0])
                    return frozenset(f"{many}[*]" if module == element else module for module in held)
    return _NONE


def _assigned(path: str, scope: Scope, nodes: Nodes) -> list[tuple[ast.Assign, Scope]]:
    """The assignments among which that of a path stands: of this function, or of the methods of its class."""
    if scope.owner is None or not path.startswith("self."):
        return [(one, scope) for one in nodes.of(ast.Assign)]
    methods = [method for cls in scope.owner.lineage() for method in cls.functions.values()]
    return [(one, method.scope) for method in methods for one in _assigns(method)]


def _made_together(slot: str, scope: Scope, nodes: Nodes) -> _Held:
    """opt_g, opt_d = self.make_optimizers(); in Lightning's manual optimization, opt_g, opt_d = self.optimizers()."""
    assigned = _assigned(slot, scope, nodes)
    found = [(one, where, place) for one, where in assigned for place in _places(one, slot)]
    if len(found) != 1:
        return _NONE
    made, where, (place, several) = found[0]
    call = made.value
    path = path_of(call.func) if isinstance(call, ast.Call) else None
    function = where.function("self.configure_optimizers" if path == "self.optimizers" else path or "")
    if function is None or not isinstance(call, ast.Call):
        return _NONE
    binding = _returned(function, place, several)
    of_self = path is not None and path.startswith("self.")
    over = binding.over if binding is not None else ()
    return frozenset(over) if of_self and over and all(one.startswith("self.") for one in over) else _NONE


def _assigns(method: Function) -> list[ast.Assign]:
    home = method.scope.module.home
    return home.nodes(method.node).of(ast.Assign) if home is not None else []


def _places(made: ast.Assign, slot: str) -> Iterator[tuple[int, int]]:
    """Where a slot stands among several that are assigned together, and how many they are."""
    for target in made.targets:
        elements = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        yield from ((place, len(elements)) for place, one in enumerate(elements) if path_of(one) == slot)


def _returned(function: Function, place: int, several: int) -> Binding | None:
    """The optimizer that a function returns there, if it always returns the same."""
    returned = [part.value for part in below(function.node) if isinstance(part, ast.Return)]
    if len(returned) != 1 or not isinstance(returned[0], ast.Tuple | ast.List):
        return None
    elements = returned[0].elts
    if len(elements) == 2 and isinstance(elements[0], ast.List) and several > 1:  # Lightning's: with schedules
        elements = elements[0].elts
    if len(elements) != several:
        return None
    one = elements[place]
    if isinstance(one, ast.Dict):  # {"optimizer": opt, "lr_scheduler": ...}
        keys = [key.value if isinstance(key, ast.Constant) else None for key in one.keys]
        one = one.values[keys.index("optimizer")] if "optimizer" in keys else one
    binding = role_of(one, function.scope)
    return binding if binding is not None and binding.role is Role.OPTIMIZER else None
