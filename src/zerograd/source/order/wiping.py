"""An attack clears the model for itself, and wipes what the training had deposited a moment before.

    clean_loss.backward()
    x_adv = attack(x, y)            # self.model.zero_grad(); cost.backward(); ...
    adversarial_loss.backward()
    optimizer.step()                # of the clean loss nothing is left

Who deposits, lets an attack clear and deposits again had no use for the first gradient, unless it is read in between.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import UNUSED, note
from zerograd.source.lowering.program import Program
from zerograd.source.lowering.skeleton import Act, Block, Call, Choice, Forget, Node, blocks_of, walk
from zerograd.source.names.probes import called_modules
from zerograd.source.values.reading import Reading

_DEPTH = 3
_READS = frozenset({"grad", "requires_grad", "requires_grad_", "register_hook", "retain_grad"})
_NAMES = {"step": "", "clear": "", "deposit": ""}  # of the rule's own message, which is not the one that is told


def detect(function: Reading) -> Iterator[Finding]:
    if not function.parts(Call) or len(function.having(Kind.DEPOSIT)) < 2:
        return
    if any(node.attr in _READS for node in function.of(ast.Attribute)):
        return
    modules = called_modules(function.nodes, function.scope)
    if modules:
        yield from _between(function.block, modules, function.file.program)


def _between(block: Block, modules: frozenset[str], program: Program) -> Iterator[Finding]:
    straight = [node for node in block if not isinstance(node, Forget)]
    for lost, attack, kept in zip(straight, straight[1:], straight[2:], strict=False):
        if not (_deposits(lost) and _deposits(kept)) or not isinstance(attack, Call | Choice):
            continue
        clear = next((act for act in _clears(attack, program) if not modules.isdisjoint(act.reaches)), None)
        if clear is not None and isinstance(lost, Act) and isinstance(kept, Act):
            related = (Related(clear.site, "it is cleared here"), Related(kept.site, "and only this is left of both"))
            found = note(REGISTRY["ZG002"], lost.site, certain=True, related=related, **_NAMES)
            yield found._replace(message=UNUSED.format(clear=clear.what, line=lost.site.line))
    for node in block:
        for inner in blocks_of(node):
            yield from _between(inner, modules, program)


def _deposits(node: Node) -> bool:
    return isinstance(node, Act) and node.kind is Kind.DEPOSIT and not node.probes


def _clears(attack: Call | Choice, program: Program) -> Iterator[Act]:
    """The clears of a module before a probe, in what is called, with the module as the caller names it."""
    for call in (node for node in walk((attack,)) if isinstance(node, Call)):
        yield from _inside(call, program, 0)


def _inside(call: Call, program: Program, depth: int) -> Iterator[Act]:
    nodes = list(walk(program.body_of(call.function)))
    for position, node in enumerate(nodes):
        found: list[Act] = []
        if isinstance(node, Act) and node.of_module and not node.partial:
            found = [node] if any(isinstance(act, Act) and act.probes for act in nodes[position:]) else []
        elif isinstance(node, Call) and depth < _DEPTH:
            found = list(_inside(node.on(call.cls), program, depth + 1))
        for act in found:
            outside = frozenset(path for inner in act.reaches if (path := call.outside(inner)) is not None)
            yield act._replace(reaches=outside)
