"""Which modules an optimizer holds, where its construction tells, or the module that it is a part of."""

import ast

from zerograd.source.names.opaque import makes_object
from zerograd.source.names.roles import modules_of, role_of
from zerograd.source.names.scopes import Role, Scope
from zerograd.source.text.nodes import Nodes, below
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import CUTS, MODULES, SAME
from zerograd.source.values.definitions import Definition, definitions_of
from zerograd.source.values.reading import Reading

_PARTS = frozenset({"optimizer", "optim", "opt"})
_ASKED = MODULES | SAME | CUTS | {"forward"}
_PIECE = pattern(
    r"^(self\.)?\w*(encoder|backbone|body|shared|base|feature|trunk|embed|net|model)\w*(?<!width)(?<!dim)(?<!size)$"
)


def held_by(slot: str, function: Reading, at: ast.AST | None = None) -> frozenset[str]:
    """The paths of its modules; none if nobody can tell. `at`: where it is used; else by all that has its name."""
    binding = function.scope.lookup(slot)
    if binding is not None:
        made = _made_anew(slot, function, at) if slot.isidentifier() else []
        unread = at is not None and () in made
        return frozenset[str]().union(*made or [binding.over]) if not unread else frozenset()
    owner, _, name = slot.rpartition(".")
    if name in _PARTS and owner not in ("", "self"):
        return frozenset({owner})  # actor.optimizer: made by the actor, of its own parameters
    return frozenset(_of_each(slot.removesuffix("[*]"), function)) if slot.endswith("[*]") else frozenset()


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


def held_as_part(slot: str, nodes: Nodes) -> frozenset[str]:
    """critic.optimizer, where the critic is called: its own network, and no manager of others."""
    owner, _, name = slot.rpartition(".")
    part = name in _PARTS and owner not in ("", "self")
    return frozenset({owner} if part and any(path_of(call.func) == owner for call in nodes.of(ast.Call)) else ())


def _of_each(path: str, function: Reading) -> list[str]:
    """opts = [Adam(net.parameters()) for net in nets]: opts[i] holds nets[i]."""
    for node, scope in _homes(path, function):
        for made in below(node):
            match made:
                case ast.Assign(targets=[target], value=ast.ListComp(elt=ast.Call() as each, generators=[over])):
                    binding = role_of(each, scope) if path_of(target) == path else None
                    if binding is not None and binding.role is Role.OPTIMIZER and each.args:
                        element, many = path_of(over.target), path_of(over.iter)
                        held = list(modules_of(each.args[0]))
                        return [f"{many}[*]" if module == element else module for module in held]
    return []


def _homes(path: str, function: Reading) -> list[tuple[ast.AST, Scope]]:
    """Where a path may be assigned: this function, or the methods of its class."""
    cls = function.scope.owner
    if cls is None or not path.startswith("self."):
        return [(function.node, function.scope)]
    return [(method.node, method.scope) for one in cls.lineage() for method in one.functions.values()]


def is_made_apart(module: str, function: Reading) -> bool:
    """Whether a module is seen to be made by itself, of nothing that could be a part of another one too, and is made a
    part of none."""
    return is_made_alone(module, function) and not any(gives(one, module) for one in _assigned(module, function))


def is_made_alone(module: str, function: Reading) -> bool:
    """The same, whatever is made of it afterwards."""
    assigned = _assigned(module, function)
    made = [one.value for one in assigned if any(path_of(target) == module for target in one.targets)]
    given = [part for value in made for part in _given(value)]
    parts = [part for one in given for part in below(one) if isinstance(part, ast.Name | ast.Attribute)]
    shares = any(_PIECE.search((path_of(part) or "").lower()) for part in parts)
    return bool(made) and all(map(makes_object, made)) and not shares


def _assigned(module: str, function: Reading) -> list[ast.Assign]:
    own = function.of(ast.Assign) if module.isidentifier() else []  # the functions in it have names of their own
    homes = _homes(module, function) if not own else []
    return own or [one for node, _ in homes for one in below(node) if isinstance(one, ast.Assign)]


def _given(made: ast.expr) -> list[ast.expr]:
    """What an object is made of: the arguments of Net(8, encoder).to(device)."""
    found: list[ast.expr] = []
    while isinstance(made, ast.Call):
        found += [*made.args, *(keyword.value for keyword in made.keywords)]
        made = made.func.value if isinstance(made.func, ast.Attribute) else made.func
    return found


def gives(node: ast.Assign, module: str) -> bool:
    """other = Sequential(module, ...), other.weight = module.weight: anything but its parameters, and its own calls."""
    nodes = below(node.value)
    asked = {id(part.value) for part in nodes if isinstance(part, ast.Attribute) and part.attr in _ASKED}
    called = [part.func for part in nodes if isinstance(part, ast.Call)]
    asked |= {id(func) for func in called} | {id(func.value) for func in called if isinstance(func, ast.Attribute)}
    return any(path_of(part) == module and id(part) not in asked for part in nodes if isinstance(part, ast.expr))


def overlap(one: frozenset[str], others: frozenset[str]) -> bool:
    """Whether a module of the one is a module of the others, or a part of one."""
    return any(
        mine == its or mine.startswith(f"{its}.") or its.startswith(f"{mine}.") for mine in one for its in others
    )
