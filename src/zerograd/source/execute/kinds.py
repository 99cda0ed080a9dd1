"""What given things are: by their uses, by elimination, and last by a hint."""

import ast
import sys

from zerograd.source.effects import python, torch
from zerograd.source.effects.lookup import row_of
from zerograd.source.effects.protocols import (
    STEPPED_BY_SCALER,
    STEPS_OPTIMIZERS,
    TOLD_THINGS,
    called_so,
    is_engine,
    is_schedule_of_torch,
    is_stepped,
    is_updated,
    may_be_schedule,
    may_be_stepped,
    role_by_use,
    steps,
)
from zerograd.source.effects.rows import Act, Trait
from zerograd.source.execute import calls
from zerograd.source.execute.execution import Execution
from zerograd.source.heap.objects import Obj, ObjectKind
from zerograd.source.heap.regions import Covers
from zerograd.source.project.hints import Role, role_of
from zerograd.source.project.index import Function

_KINDS = {
    Role.OPTIMIZER: ObjectKind.OPTIMIZER,
    Role.SCHEDULER: ObjectKind.SCHEDULER,
    Role.SCALER: ObjectKind.SCALER,
    Role.ACCELERATOR: ObjectKind.ACCELERATOR,
    Role.MODULE: ObjectKind.MODULE,
}

_STEPS = [name for name, row in torch.OPTIMIZER.items() if row.act is Act.STEPS]
_MOVES = [name for name, row in torch.SCHEDULER.items() if row.act is Act.SCHEDULES]
_GROUPS = frozenset(name for name, trait in torch.ATTRIBUTES["optimizer"].items() if trait is Trait.GROUPS)
_OF_NETWORKS = frozenset(
    f"{name}()" for name, row in torch.MODULE.items() if row.act in (Act.PARAMETERS, Act.NAMED_PARAMETERS, Act.CLEARS)
)
_CLEARS = frozenset(name for name, row in torch.OPTIMIZER.items() if row.act is Act.CLEARS)


def infer(ex: Execution) -> bool:
    """Settle what a pass has shown. Whether anything changed."""
    changed = False
    steppers: list[Obj] = []
    _pair_scalers(ex)
    for obj in ex.heap.all():
        if not obj.uses or not (_is_given(obj) or _is_imported(obj)):
            continue
        role = role_by_use(obj.uses)
        if role is not None:
            obj.kind, obj.given = _KINDS[role], True
            obj.hinted = obj.hinted or (role is Role.OPTIMIZER and (_may_be_of_project(ex, obj) or _may_clear(ex)))
            changed = True
        elif is_engine(obj.uses):
            obj.kind, obj.given = ObjectKind.ENGINE, True
            changed = True
        elif may_be_stepped(obj.uses):
            steppers.append(obj)
    for obj in ex.heap.all():
        # What has a network for a part, and is called, is a network.
        whole = obj.source if obj.given and obj.kind is ObjectKind.MODULE else None
        if whole is not None and whole.kind is ObjectKind.GIVEN and python.CALL in whole.uses:
            whole.kind = ObjectKind.MODULE
            changed = True
    changed = _of_networks(ex) or _of_the_only_ones(ex) or _of_the_one_left(ex) or _of_the_accumulated(ex) or changed
    return _by_elimination(ex, steppers) or changed


def _pair_scalers(ex: Execution) -> None:
    """Who is updated, and handed what others step by itself, is a scaler; and what it is handed an optimizer."""
    for obj, handed in ex.tables.told_to_step.items():
        if is_updated(obj.uses):
            for one in handed:
                if one.kind is ObjectKind.GIVEN and steps(one.uses):
                    obj.uses.add(STEPS_OPTIMIZERS)
                    one.uses.add(STEPPED_BY_SCALER)


def _of_networks(ex: Execution) -> bool:
    """An optimizer that is kept by what is called holds the parameters of that: it is a network, and its only one."""
    kept: dict[Obj, list[Obj]] = {}
    for obj in ex.heap.all():
        if obj.given and obj.kind is ObjectKind.OPTIMIZER and obj.source is not None:
            kept.setdefault(obj.source, []).append(obj)
    changed = False
    for whole, optimizers in kept.items():
        is_network = whole.given and python.CALL in whole.uses and whole.kind in (ObjectKind.GIVEN, ObjectKind.MODULE)
        if is_network and len(optimizers) == 1 and not optimizers[0].held:
            (optimizer,) = optimizers
            whole.kind, optimizer.held = ObjectKind.MODULE, frozenset({whole})
            ex.tables.slots.pop((optimizer, optimizer), None)
            changed = True
    return changed


def _of_the_only_ones(ex: Execution) -> bool:
    """The only optimizer, which was given, steps the only network in sight: every loss goes through that one alone."""
    if len(ex.tables.active) != 1 or not ex.tables.deposits:
        return False
    (optimizer,) = ex.tables.active
    if not optimizer.given or optimizer.held:
        return False
    reached = [{one for one in met.value.made_of if _is_called(one)} for met in ex.tables.deposits.values()]
    networks = set().union(*reached)
    if len(networks) != 1 or not all(reached):
        return False
    (network,) = networks
    if TOLD_THINGS in network.uses:
        return False  # it calls networks that it is handed
    if any(_is_network(one) and ex.overlap.of(one, networks) is not Covers.YES for one in ex.heap.all()):
        return False
    network.kind, optimizer.held = ObjectKind.MODULE, frozenset({network})
    ex.tables.slots.pop((optimizer, optimizer), None)
    return True


def _is_network(obj: Obj) -> bool:
    """Whether something that was given is a network, or is treated as one."""
    is_open = obj.kind is ObjectKind.GIVEN and not _OF_NETWORKS.isdisjoint(obj.uses)
    return obj.given and (is_open or obj.kind is ObjectKind.MODULE)


def _of_the_one_left(ex: Execution) -> bool:
    """Beside optimizers made in sight, the only one that was given steps the only network that was given.

    Its losses go through that one, and through what the others hold.
    """
    unknown = [one for one in ex.tables.active if one.given and not one.held]
    others = [one for one in ex.tables.active if one not in unknown]
    if len(unknown) != 1 or not others or any(one.given or not one.held for one in others):
        return False
    (optimizer,) = unknown
    reached = [met.value.made_of for site, met in ex.tables.deposits.items() if optimizer in ex.tables.owners[site]]
    theirs = [region for one in others for region in one.held]
    called = {one for made_of in reached for one in made_of if _is_called(one)}
    networks = {one for one in called if ex.overlap.of(one, theirs) is not Covers.YES}
    if len(networks) != 1 or any(networks.isdisjoint(made_of) for made_of in reached):
        return False
    (network,) = networks
    network.kind, optimizer.held = ObjectKind.MODULE, frozenset({network})
    ex.tables.slots.pop((optimizer, optimizer), None)
    return True


def _of_the_accumulated(ex: Execution) -> bool:
    """The only optimizer that steps where an accelerator accumulates over one network holds the parameters of that."""
    changed = False
    for optimizer, networks in ex.tables.stepped_over.items():
        others = {one for one, theirs in ex.tables.stepped_over.items() if not theirs.isdisjoint(networks)}
        alone = others == {optimizer} or ex.tables.met_with.get(optimizer) == {frozenset(others)}  # whichever it is
        if optimizer.given and not optimizer.held and len(networks) == 1 and alone:
            (network,) = networks
            network.kind, optimizer.held = ObjectKind.MODULE, frozenset({network})
            ex.tables.slots.pop((optimizer, optimizer), None)
            changed = True
    return changed


def _is_called(obj: Obj) -> bool:
    return obj.given and obj.kind in (ObjectKind.GIVEN, ObjectKind.MODULE) and python.CALL in obj.uses


def _is_given(obj: Obj) -> bool:
    return obj.given and obj.kind is ObjectKind.GIVEN


def _is_imported(obj: Obj) -> bool:
    """Whether it was imported from a file that nobody can read, which is none of Python's, and no table knows it."""
    package, dot, _ = obj.name.partition(".")
    is_unknown = obj.kind is ObjectKind.EXTERNAL and bool(dot) and row_of(obj.name) is None
    return is_unknown and package not in sys.stdlib_module_names


def _may_be_of_project(ex: Execution, obj: Obj) -> bool:
    """Whether a class of the file has every method that is called on it: then it may be one of those."""
    called = called_so(obj.uses)
    return any(
        all(name in methods and calls.may_be_called(methods[name], handed=handed) for name, handed in called)
        and calls.kind_of_class(ex, cls) is ObjectKind.INSTANCE
        for cls in ex.main.classes
        if cls is not ex.root_class
        for methods in (ex.classes.of(cls).methods,)
    )


def _may_clear(ex: Execution) -> bool:
    """Whether a class of another file clears in its step: what is handed in may be one of those."""
    if ex.tables.may_clear is None:
        ex.tables.may_clear = any(
            not _CLEARS.isdisjoint(cls.methods[step].called)
            for step in _STEPS
            for cls in ex.project.classes_defining(step, ex.main)
        )
    return ex.tables.may_clear


def _may_set_rates(ex: Execution) -> bool:
    """Whether a class of another file, which is no optimizer, changes groups in its step: it may set the first rate."""
    if ex.tables.may_set_rates is None:
        ex.tables.may_set_rates = any(
            _changes_groups(cls.methods[step]) and calls.kind_of_class(ex, cls) is ObjectKind.INSTANCE
            for step in _MOVES
            for cls in ex.project.classes_defining(step, ex.main)
        )
    return ex.tables.may_set_rates


def _changes_groups(function: Function) -> bool:
    """Whether it names the groups of an optimizer, and sets an entry of something."""
    entries = (node.ctx for node in ast.walk(function.node) if isinstance(node, ast.Subscript))
    return not _GROUPS.isdisjoint(function.attributes) and any(isinstance(one, ast.Store) for one in entries)


def _by_elimination(ex: Execution, steppers: list[Obj]) -> bool:
    """The only thing that steps is the optimizer, if there is no other; of several, hints tell which is which."""
    known = [obj for obj in ex.heap.all() if obj.kind is ObjectKind.OPTIMIZER]
    live = [obj for obj in known if is_stepped(obj.uses)]
    if live:
        return _by_their_optimizers(ex, steppers, live)
    if not steppers:
        return False
    if len(steppers) == 1:
        steppers[0].kind, steppers[0].given = ObjectKind.OPTIMIZER, True
        steppers[0].hinted = _may_be_of_project(ex, steppers[0]) or _may_clear(ex)
        return True
    roles = {obj: role_of(obj.name.rpartition(".")[2]) for obj in steppers}
    named = [obj for obj in steppers if roles[obj] is Role.OPTIMIZER]
    others = [obj for obj in steppers if roles[obj] is Role.SCHEDULER]
    told_apart = len(named) == 1 and len(named) + len(others) == len(steppers)
    for obj in named:
        obj.kind, obj.given = ObjectKind.OPTIMIZER, True
        obj.hinted = not told_apart or _may_clear(ex)
    return bool(named)


def _by_their_optimizers(ex: Execution, steppers: list[Obj], live: list[Obj]) -> bool:
    """Beside optimizers that step: what was made of one of them and steps as well moves its schedule.

    What was given together with the only one, and is named a schedule, is one.
    """
    found = False
    able = [obj for obj in steppers if may_be_schedule(obj.uses)]
    named = [obj for obj in able if role_of(obj.name.rpartition(".")[2]) is Role.SCHEDULER]
    for obj in able:
        made_of_them = bool(obj.optimizers) and all(steps(one.uses) for one in obj.optimizers)
        if made_of_them or obj in named:
            obj.kind = ObjectKind.SCHEDULER
            # What a schedule of another package does with its first step is its own affair.
            foreign = obj.constructed and not is_schedule_of_torch(obj.uses)
            handed_in = not made_of_them and (len(live) > 1 or len(steppers) > 1 or _may_set_rates(ex))
            obj.hinted = foreign or handed_in
            found = True
    return found
