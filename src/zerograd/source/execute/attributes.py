"""Attributes: what reading one gives, and what writing one does."""

import ast
from collections.abc import Iterable

from zerograd.source.effects import frameworks, spelling, torch
from zerograd.source.effects.lookup import lightning_method, module_method, tensor_method
from zerograd.source.effects.rows import Trait
from zerograd.source.execute import (
    acts,
    calls,
    containers,
    expressions,
    gradients,
    graphs,
    ranks,
    replacing,
    statements,
    unfilled,
    updates,
)
from zerograd.source.execute.execution import Execution
from zerograd.source.heap.conditions import Synced
from zerograd.source.heap.objects import Obj, ObjectKind, Shape
from zerograd.source.heap.regions import reach
from zerograd.source.heap.values import NO_GRAPHS, NO_OBJECTS, Graph, Value, join

_TRAITS: dict[ObjectKind, dict[str, Trait]] = {
    ObjectKind.PARAMETER: torch.ATTRIBUTES["parameter"],
    ObjectKind.LEAF: torch.ATTRIBUTES["parameter"],
    ObjectKind.GRADIENT: torch.ATTRIBUTES["gradient"],
    ObjectKind.OPTIMIZER: torch.ATTRIBUTES["optimizer"],
    ObjectKind.MODULE: torch.ATTRIBUTES["module"],
    ObjectKind.ACCELERATOR: frameworks.ATTRIBUTES["accelerator"],
}
_WITH_METHODS = frozenset(
    {
        ObjectKind.SCALER,
        ObjectKind.SCHEDULER,
        ObjectKind.ENGINE,
        ObjectKind.CONTAINER,
        ObjectKind.CRITERION,
        ObjectKind.PARAMETERS,
        ObjectKind.OPTIMIZER,
        ObjectKind.ACCELERATOR,
        ObjectKind.REPLAY,
        ObjectKind.PARAMETER,
        ObjectKind.LEAF,
        ObjectKind.GRADIENT,
    }
)


def is_inner(objects: Iterable[Obj], name: str) -> bool:
    """Whether a name is that of what a module wraps."""
    return all(one.kind is ObjectKind.MODULE and one.cls is None for one in objects) and (
        torch.ATTRIBUTES["module"].get(name) is Trait.ITSELF
    )


def read(ex: Execution, base: Value, name: str, node: ast.AST) -> Value:
    """base.name"""
    found: Value | None = None
    unfilled.use(ex, base, node)
    for obj in sorted(base.objects):
        one = _read_from(ex, obj, base, name, node)
        if one is not None:
            found = one if found is None else join(found, one, ex.identities.of("met", node, ex.context))
    if found is not None:
        if len(found.objects) > 1 and all(one.kind is ObjectKind.BOUND and one.name == name for one in found.objects):
            return bound(ex, base, name)  # a method of whichever it is
        return found
    if base.graph:
        return _of_tensor(ex, base, name, node)
    if not base.objects and not base.exact and tensor_method(name) is not None:
        return bound(ex, base, name)
    return Value(ex.identities.of("field", name, made_of=(base.id,)), exact=False)


def _of_tensor(ex: Execution, base: Value, name: str, node: ast.AST) -> Value:
    identity = ex.identities.of("field", name, made_of=(base.id,))
    trait = torch.ATTRIBUTES["tensor"].get(name)
    if trait is Trait.DATA:
        if base.graph is not Graph.CUT and not base.exact:
            return base._replace(id=identity, objects=frozenset(), graph=Graph.ANY)
        return Value(identity, graph=Graph.CUT, reduction=base.reduction, cut_from=base.made_of | base.cut_from)
    if trait is Trait.GRADIENT:
        gradient = Value(ex.fresh(node), graph=Graph.CUT)
        unfilled.read_of_tensor(ex, base, node, gradient)
        return gradient
    if trait is Trait.NUMBER:
        return Value(identity)
    if trait is Trait.VIEW:
        return base._replace(id=identity, objects=frozenset(), number=None, test=None)
    method = bound(ex, base, name)
    return method._replace(id=identity, graph=base.graph, made_of=base.made_of, sure=base.sure, exact=False)


def bound(ex: Execution, receiver: Value, name: str) -> Value:
    """A method with its receiver."""
    obj = ex.heap.of("bound", receiver.id, name, kind=ObjectKind.BOUND)
    obj.receiver, obj.name = receiver, name
    return Value(ex.identities.of("bound", name, made_of=(receiver.id,)), frozenset({obj}))


def _read_from(ex: Execution, obj: Obj, base: Value, name: str, node: ast.AST) -> Value | None:
    kind = obj.kind
    if kind is ObjectKind.NONE:
        return None
    if kind is ObjectKind.EXTERNAL:
        obj.uses.add(name)
        return expressions.external(ex, f"{obj.name}.{name}")
    if kind is ObjectKind.FILE and obj.file is not None:
        stored = ex.store.get((statements.module_frame(obj.file), name))
        return stored or expressions.defined(ex, ex.project.definition(obj.file, name), f"{obj.file.path}.{name}")
    stored = ex.store.get((obj, name))
    if stored is not None:
        return stored
    if obj.cls is not None:
        found = _of_class(ex, obj, base, name, node)
        if found is not None:
            return found
    trait = _TRAITS.get(kind, {}).get(name)
    if trait is not None:
        return _with_trait(ex, obj, base, name, trait, node)
    if kind is ObjectKind.MODULE:
        if torch.ATTRIBUTES["parameter"].get(name) is Trait.GRADIENT:  # model.weight.grad
            return _with_trait(ex, obj, base, name, Trait.GRADIENT, node)
        if module_method(name) is not None or lightning_method(name) is not None:
            return bound(ex, base, name)
        kept = ex.heap.known("given", obj, name)
        if kept is not None and kept.kind is ObjectKind.OPTIMIZER:  # it was met before this was known for a network
            return ex.given(obj, name, name=name, of=obj, made_of=(base.id,))
        return Value(ex.identities.of("field", name, made_of=(base.id,)), frozenset({containers.part(ex, obj, name)}))
    if kind in _WITH_METHODS:
        method = bound(ex, base, name)
        return method if acts.is_method(name) else method._replace(exact=False)  # or a field, of any value
    return _of_unknown(ex, obj, base, name, node)


def _of_unknown(ex: Execution, obj: Obj, base: Value, name: str, node: ast.AST) -> Value | None:
    if obj.kind is ObjectKind.GIVEN:
        obj.uses.add(name)
        if torch.ATTRIBUTES["parameter"].get(name) is Trait.GRADIENT and ex.path is not None:
            gradients.look_at(ex)
        made = ex.given(obj, name, name=name, of=obj, made_of=(base.id,))
        if torch.ATTRIBUTES["tensor"].get(name) is Trait.NUMBER:  # of whatever it is, that has no graph
            made = made._replace(graph=Graph.NONE, made_of=NO_OBJECTS)
        else:
            made = made._replace(graph=base.graph, made_of=base.made_of, through=base.through)
        (attribute,) = made.objects
        attribute.receiver = base  # of what, if it turns out to be a method
        if obj in ex.tables.volatile and ex.loops:
            return made._replace(id=ex.fresh(node))
        return made
    if obj.kind in (ObjectKind.INSTANCE, ObjectKind.CLASS):  # what it keeps brings no graph along: it outlives them
        return ex.given(obj, name, name=name, of=obj, made_of=(base.id,))._replace(through=NO_GRAPHS)
    if obj.kind in (ObjectKind.FUNCTION, ObjectKind.BOUND):
        return Value(ex.identities.of("field", name, made_of=(base.id,)), exact=False)
    return None


def _of_class(ex: Execution, obj: Obj, base: Value, name: str, node: ast.AST) -> Value | None:
    assert obj.cls is not None
    known = ex.classes.of(obj.cls)
    receiver = base if obj.given else ex.thing(obj)
    method = known.methods.get(name)
    if method is not None:
        if calls.is_property(ex, method):
            return calls.inline(ex, calls.method_object(ex, method), [], {}, node, receiver=receiver, cls=method.cls)
        return bound(ex, receiver, name)
    attribute = known.attributes.get(name)
    if attribute is None or obj.kind is ObjectKind.OPTIMIZER:
        return None
    if isinstance(attribute[1], ast.Constant):
        return expressions.evaluate(ex, attribute[1])
    return ex.given(obj, name, name=name, of=obj)


def _with_trait(ex: Execution, obj: Obj, base: Value, name: str, trait: Trait, node: ast.AST) -> Value:
    identity = ex.identities.of("field", name, made_of=(base.id,))
    if trait is Trait.GRADIENT:
        gradient = ex.heap.of("gradient", obj, kind=ObjectKind.GRADIENT)
        gradient.regions, gradient.given = gradients.own_regions(obj), obj.given
        gradients.look_at(ex)
        if obj.kind is ObjectKind.LEAF:
            ex.tables.add(ex.tables.graded, obj)
        slopes = updates.read(ex, gradient.regions, node)
        return gradients.gradient_of(ex, gradient)._replace(slopes=slopes)
    if trait is Trait.ITSELF:
        return ranks.bare(base)
    if trait is Trait.DATA:
        ex.unwatched.add(identity)
        return base._replace(id=identity)
    if trait is Trait.GROUPS:
        return _groups(ex, obj)
    if trait is Trait.SYNCED:
        return Value(identity, test=Synced(obj))
    if trait is Trait.VIEW:
        return graphs.tensor(ex, [base], identity)
    if trait is Trait.TOLD:
        told = ex.made_with.get(obj, {}).get(name)
        return told if told is not None else Value(identity)
    if trait is Trait.SETTING:
        return ex.given(obj, name, name=name, of=obj)
    return Value(identity)


def _groups(ex: Execution, optimizer: Obj) -> Value:
    """param_groups: a list of dicts, one standing for all, whose "params" are what the optimizer holds."""
    optimizer.uses.add(spelling.PARAM_GROUPS)
    ex.tables.add(ex.tables.read, optimizer)
    held = ex.heap.of("held", optimizer, kind=ObjectKind.PARAMETERS)
    held.regions, held.given = gradients.held_by(optimizer), optimizer.given
    groups = ex.heap.of("groups", optimizer, kind=ObjectKind.CONTAINER)
    groups.shape = Shape.GROUPS
    group = ex.heap.of("group", optimizer, kind=ObjectKind.CONTAINER)
    group.shape, group.optimizers = Shape.DICT, {optimizer}
    ex.store.put((group, containers.at(spelling.PARAMS)), ex.thing(held))
    ex.store.put((groups, containers.ELEMENT), ex.thing(group))
    ex.store.put((groups, containers.at(0)), ex.thing(group))
    return ex.thing(groups)


def _is_requires_grad(name: str) -> bool:
    return torch.ATTRIBUTES["parameter"].get(name) is Trait.REQUIRES_GRAD


def write(ex: Execution, base: Value, name: str, value: Value, node: ast.AST, *, deleted: bool = False) -> None:
    """base.name = value"""
    if _is_requires_grad(name):
        ex.tables.asked_for_gradient.add(base.id)
        ex.tables.keep_gradient.add(base.id)
    for obj in sorted(base.objects):
        trait = _TRAITS.get(obj.kind, {}).get(name)
        is_weight = obj.kind is ObjectKind.MODULE and torch.ATTRIBUTES["parameter"].get(name) is Trait.GRADIENT
        if is_weight:
            gradients.replaced(ex, frozenset({obj}), value, node)
            continue
        if obj.kind in (ObjectKind.PARAMETER, ObjectKind.LEAF):
            if trait is Trait.GRADIENT:
                gradients.replaced(ex, gradients.own_regions(obj), value, node)
            elif trait is Trait.REQUIRES_GRAD:
                for region in gradients.own_regions(obj):
                    gradients.freeze(ex, region, value)
            elif trait is Trait.DATA and not deleted:
                target = node.targets[0] if isinstance(node, ast.Assign) else None
                unwatched = _with_trait(ex, obj, base, name, trait, node)
                updates.update(ex, unwatched, [value], node, target)
            continue
        if obj.kind is ObjectKind.GRADIENT:
            if trait is Trait.ITSELF:  # p.grad.data = ...
                gradients.replaced(ex, obj.regions, value, node)
            continue
        if deleted:
            ex.store.drop((obj, name))
            continue
        if obj.cls is not None and _runs_setter(ex, obj, name, value, node):
            continue
        aim = node.targets[0] if isinstance(node, ast.Assign) else None
        if obj.kind is ObjectKind.MODULE:
            if obj.learns or (containers.is_part(obj) and torch.ATTRIBUTES["parameter"].get(name) is Trait.DATA):
                updates.note_written(ex, obj, node)  # its weights are another tensor
            replacing.adopted(ex, obj, (obj, name), value, node, aim)
            adopt(ex, obj, value)
        else:
            replacing.bound(ex, (obj, name), value, node, aim)
        if obj.kind in (ObjectKind.NONE, ObjectKind.CONTAINER):
            continue
        if obj.given or obj.shown:
            gradients.show(ex, [value])
        ex.leaves_kept |= {one for one in value.objects if one.kind is ObjectKind.LEAF}
        if obj.kind is ObjectKind.FILE and obj.file is not None:
            statements.put(ex, (statements.module_frame(obj.file), name), value)
        elif (len(base.objects) == 1 and base.exact) or obj.given:
            statements.put(ex, (obj, name), value)
        else:
            old = ex.store.get((obj, name))
            joined = value if old is None else join(old, value, ex.identities.of("met", node, ex.context))
            statements.put(ex, (obj, name), joined)


def is_told_to_learn(base: Value, name: str, value: Value) -> bool:
    """x.requires_grad = True, of a tensor."""
    told = value.constant is not None and value.constant.value is True
    return _is_requires_grad(name) and told and base.exact and graphs.may_be_leaf(base)


def _runs_setter(ex: Execution, obj: Obj, name: str, value: Value, node: ast.AST) -> bool:
    assert obj.cls is not None
    setter = ex.classes.of(obj.cls).setters.get(name)
    if setter is None:
        return False
    calls.inline(ex, calls.method_object(ex, setter), [value], {}, node, receiver=ex.thing(obj), cls=setter.cls)
    return True


def adopt(ex: Execution, module: Obj, value: Value) -> None:
    """What is put into a module is part of it."""
    parts: set[Obj] = set()
    for held in containers.deep(ex, value):
        for one in held.objects:
            if one.kind is ObjectKind.MODULE:
                parts.add(one)
            elif one.kind is ObjectKind.GIVEN:
                module.taken.add(one)
            elif one.kind in (ObjectKind.LEAF, ObjectKind.PARAMETER):
                parts |= gradients.own_regions(one)
    for one in parts:
        if one is not module and one not in module.children and module not in reach(one):
            module.children.add(one)
            ex.tables.grown = True
    module.loose |= parts - value.objects
    module.loose -= value.objects
    if parts and ex.path is not None:
        gradients.thaw(ex, module)  # something new stands in it, and it is not frozen
