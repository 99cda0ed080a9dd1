"""Optimizers that are handed to a function with nothing to learn from: what is handed along was detached (ZG003).

fake = generator(noise).detach()
update_generator(fake, discriminator, generator_optimizer)    # its loss ends at the fake

The function clears, goes backward and steps; the loss is made of what it is handed, and nothing of that goes through
the modules that the optimizer holds. What cannot be read may do so.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.losses import loss_of
from zerograd.source.graphs.ancestry import Ancestry
from zerograd.source.learning.unreached import hides, in_front, paths_in
from zerograd.source.lowering.skeleton import Act, Call
from zerograd.source.names.arguments import arguments
from zerograd.source.names.opaque import makes_object
from zerograd.source.names.scopes import Function, Role, Scope
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import BUILTINS
from zerograd.source.values.apart import is_made_alone, overlap
from zerograd.source.values.bonds import Bonds
from zerograd.source.values.callers import called, reading_of
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.holdings import held_by
from zerograd.source.values.reading import Reading

_FEW = 60  # names that a loss is made of


def detect(function: Reading) -> Iterator[Finding]:
    file, program = function.file, function.file.program
    if not program.has_several or not any(map(file.says, (".detach()", "no_grad", ".data"))):
        return
    if not any(map(_is_handed_optimizer, function.parts(Call))):
        return
    for call in function.of(ast.Call):
        callee = called(path_of(call.func) or "", function.scope)
        body = program.body_of(callee) if callee is not None and callee.node is not function.node else ()
        if callee is None or not any(act.kind is Kind.CONSUME for act in file.acts_of(body)):
            continue
        if any(program.body_of(one.function) for one in file.parts_of(body, Call)):
            continue  # who deposits further away may reach everything
        home = reading_of(callee, file)
        inside = Reading(callee.node, body, callee.scope, home.file)
        for act in inside.having(Kind.CONSUME):
            modules = _starved(function, call, callee, inside, act)
            if modules:
                yield _told(function, call, act, modules)


def _is_handed_optimizer(call: Call) -> bool:
    known = (call.caller.lookup(path) for _, path in call.arguments)
    return any(binding is not None and binding.role is Role.OPTIMIZER for binding in known)


def _starved(function: Reading, call: ast.Call, callee: Function, inside: Reading, act: Act) -> frozenset[str]:
    """The modules of the optimizer that a call hands over, if nothing that it hands over goes through them."""
    given = dict(arguments(call, callee))
    unread = any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
    slot = path_of(given[act.slot]) if act.slot in given else None
    modules = held_by(slot, function) if slot is not None and not unread else frozenset[str]()
    if not modules or any(overlap(frozenset({path_of(one) or "?"}), modules) for one in given.values()):
        return frozenset()
    losses = [loss_of(one) for one in in_front(inside, act)]
    made_of = _made_of([loss for loss in losses if loss is not None], inside)
    if not losses or None in losses or made_of is None or not _is_apart(made_of, inside, modules):
        return frozenset()
    handed = [given[path] for path in made_of if path in given]
    others = [one for one in handed if not _is_made_by(one, modules, function)]
    roots = {(path_of(one) or "").partition(".")[0] for one in others} - {"", "self"}
    made = {root for root in roots if any(makes_object(one.value) for one in definitions_of(function).every(root))}
    bonds = Bonds(function) if made else None
    if bonds is not None and any(bonds.are_bound(root, modules) for root in made):
        return frozenset()
    ancestry = Ancestry(function)
    cut = any(_is_made_by(one, modules, function) for one in handed)
    return modules if cut and all(_is_cut(one, modules, function, ancestry) for one in handed) else frozenset()


def _made_of(losses: list[ast.expr], inside: Reading) -> set[str] | None:
    """The names and paths that losses are made of, in the function that they go backward in; None if there are many."""
    every, pending, seen = definitions_of(inside).every, list[ast.AST](losses), set[str]()
    for node in pending:  # it grows on the way
        for path in {*paths_in(node), *(part.id for part in below(node) if isinstance(part, ast.Name))} - seen:
            seen.add(path)
            pending += [one.value for one in every(path)]
        if len(seen) > _FEW:
            return None
    return seen


def _is_apart(made_of: set[str], inside: Reading, modules: frozenset[str]) -> bool:
    """Whether nothing of the function's own, or of its file's, brings the modules in."""
    scope = inside.scope
    if "self" in made_of or overlap(frozenset(made_of - set(scope.parameters)), modules):
        return False
    runs = [call for call in inside.of(ast.Call) if path_of(call.func) in made_of - BUILTINS]
    roots = {(path_of(call.func) or "").partition(".")[0] for call in runs}
    if any(root in scope.module.assigned and not scope.owns(root) and not _is_loss(root, scope) for root in roots):
        return False  # an object of the file's: it may have the modules
    return not any(scope.function(path_of(call.func) or "") and hides(inside, call, modules) for call in runs)


def _is_loss(name: str, scope: Scope) -> bool:
    """criterion = nn.BCELoss()"""
    made = scope.lookup(name)
    return made is not None and made.made_by.startswith("torch.nn.") and made.made_by.endswith("Loss")


def _is_made_by(handed: ast.expr, modules: frozenset[str], function: Reading) -> bool:
    """Whether the modules made it, before it was cut off."""
    values = [handed, *(one.value for one in definitions_of(function).every(path_of(handed) or "?"))]
    calls = [part for value in values for part in below(value) if isinstance(part, ast.Call)]
    return any(overlap(frozenset({path_of(call.func) or "?"}), modules) for call in calls)


def _is_cut(handed: ast.expr, modules: frozenset[str], function: Reading, ancestry: Ancestry) -> bool:
    """Whether its graph is known, and goes past these modules."""
    behind = ancestry.of(handed)
    calls = [one for one in behind if isinstance(one, ast.Call)]
    made = [one.value for one in definitions_of(function).every(path_of(handed) or "?")]
    called_there = {id(part.func) for value in made for part in below(value) if isinstance(part, ast.Call)}
    parts = [part for value in made for part in below(value) if id(part) not in called_there]
    if any(isinstance(part, ast.expr) and path_of(part) in modules for part in parts):
        return False  # Discriminator(generator)
    if len(calls) != len(behind) or any(hides(function, one, modules) for one in calls):
        return False
    return not any(overlap(frozenset({path}), modules) for one in calls for path in paths_in(one))


def _told(function: Reading, call: ast.Call, act: Act, modules: frozenset[str]) -> Finding:
    certain = all(is_made_alone(module, function) for module in modules)
    found = note(REGISTRY["ZG003"], function.site(call), certain=certain, step=act.what)
    names = " and ".join(sorted(modules))
    return found._replace(
        message=f"{act.what} has nothing to consume in this call: nothing that is handed over goes through {names}",
        cure=f"hand over what {names} returned with its graph: without detach(), and outside of no_grad()",
    )
