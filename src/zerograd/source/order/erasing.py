"""Clears that take away what was deposited a moment before, and a step that gets only what comes after them.

    for micro_batch in batch:           first.backward()
        optimizer.zero_grad()           optimizer.zero_grad()
        loss(micro_batch).backward()    second.backward()
    optimizer.step()                    optimizer.step()

The interpreter cannot accuse them: to clear what nobody steps on is legal, and attacks, penalties and probes do it. But
they read what they deposited, or its input's gradient; a file that never looks at a gradient had no use for it.
"""

import ast
from collections.abc import Callable, Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import UNUSED, erased, note
from zerograd.source.counting.losses import loss_of
from zerograd.source.lowering.skeleton import Act, Block, Blur, Choice, Forget, Jump, Loop, Node, blocks_of, walk
from zerograd.source.names.opaque import is_harmless
from zerograd.source.text.nodes import below, holds, place, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import is_model, tells
from zerograd.source.values.callers import called
from zerograd.source.values.holdings import held_by
from zerograd.source.values.reading import Reading
from zerograd.source.walking.guarded import acts_in

_BESIDE = (
    Kind.CLIP,
    Kind.UNSCALE,
    Kind.RESCALE,
    Kind.SCHEDULE,
)  # what may stand between the last backward and the step
_KEEPS = pattern(r"save|checkpoint|eval|valid|update|append|write|flush|close|synchronize|empty_cache|barrier|reset")
_CYCLE = (Kind.DEPOSIT, Kind.CLEAR, Kind.CONSUME)
_WORD = pattern(r"\w+")
_WAYS = 6  # branches in a row


def detect(function: Reading) -> Iterator[Finding]:
    file, kinds = function.file, [act.kind for act in function.acts]
    if not set(_CYCLE) <= set(kinds):
        return
    looks = file.reads_gradients or file.says("requires_grad") or file.says("hook")
    if function.parts(Loop):
        yield from _inside(function, function.block, adds=not looks)
    if not looks and kinds.count(Kind.DEPOSIT) > 1:
        slots = frozenset(act.slot for act in function.acts if act.kind in (Kind.CONSUME, Kind.CLEAR))
        found = _between(function.block, (), slots, alone=not file.program.has_several)
        yield from (one for one in found if not _is_rehearsed(function, one) and not _is_seen_between(function, one))


def _inside(function: Reading, block: Block, behind: Block = (), *, adds: bool) -> Iterator[Finding]:
    """for micro_batch in batch: zero_grad, backward; then one step behind the loop: it gets the last one alone.

    `behind`: what runs when the block has ended; `adds`: one more backward before the step changes nothing."""
    for position, node in enumerate(block):
        rest = (*block[position + 1 :], *behind)
        if isinstance(node, Loop) and node.node is not None and not node.windows:
            step = _next_step(tuple(one for one in rest if not (adds and _deposits(one))))
            meant = any(map(_is_meant, walk(node.body)))
            lost = step is not None and not meant and not _is_collected(function, node, step)
            for clear in _clears_before_a_deposit(node.body) if lost else ():
                if step is not None and (
                    clear.slot == step.slot or (adds and _is_its_own(function, node, clear, step))
                ):
                    related = (Related(step.site, "only the last micro-batch reaches this step"),)
                    yield erased(REGISTRY["ZG002"], clear.site, clear.what, related)
        for inner in blocks_of(node):
            yield from _inside(function, inner, rest if isinstance(node, Choice) else (), adds=adds)


def _is_its_own(function: Reading, loop: Loop, clear: Act, step: Act) -> bool:
    """model.zero_grad(), of a model that the loop's losses go through and that the step is for: its optimizer was made
    of it, or it is clipped for the step. An optimizer of something else, an input, has no use for what is cleared."""
    if clear.slot is not None or clear.partial or step.slot is None:
        return False
    clips = [act for act in function.having(Kind.CLIP) if clear.site < act.site < step.site]
    stepped = held_by(step.slot, function).union(*(act.reaches for act in clips))
    reached = frozenset[str]().union(*(act.reaches for act in acts_in(loop.body) if act.kind is Kind.DEPOSIT))
    inside = (call for call in function.of(ast.Call) if loop.node is not None and holds(loop.node, call))
    return bool(clear.reaches & stepped & (reached or {path_of(call.func) for call in inside}))


def _is_collected(function: Reading, loop: Loop, step: Act) -> bool:
    """quantizer.record() in the loop, quantizer.apply() behind it: someone keeps the gradients and puts them back."""
    assert loop.node is not None
    inside, behind = set[str](), set[str]()
    for node in function.of(ast.Expr):
        match node.value:
            case ast.Call(func=ast.Attribute(value=keeper, attr=attr)) if attr != "backward":
                on = path_of(keeper) or step.slot
                if on != step.slot and holds(loop.node, node):
                    inside.add(on or "")
                elif on != step.slot and place(loop.node) < place(node) and node.lineno < step.site.line:
                    behind.add(on or "")
    return not inside.isdisjoint(behind)


def _is_meant(node: Node) -> bool:
    """Whether a loop with this in it steps by itself, or tries until something is found."""
    if isinstance(node, Jump):
        return node.to in ("break", "return")
    if isinstance(node, Blur):
        return Kind.CLEAR in node.kinds  # it is named for gradients, and may keep them: attack.backup_grad()
    return isinstance(node, Act) and node.kind is Kind.CONSUME


def _clears_before_a_deposit(block: Block) -> Iterator[Act]:
    for position, node in enumerate(block):
        if not isinstance(node, Act) or node.kind is not Kind.CLEAR or not (node.slot or node.of_module):
            continue
        if any(_surely(later, _deposits) for later in block[position + 1 :]):
            yield node


def _between(block: Block, rest: Block, slots: frozenset[str | None], *, alone: bool) -> Iterator[Finding]:
    """Several losses and one step: whatever way is taken, what one of them deposits is cleared before anything steps,
    and another one comes. `rest`: what runs behind the block."""
    if len(slots) != 1:
        return
    for position, node in enumerate(block):
        deposits = isinstance(node, Act) and node.kind is Kind.DEPOSIT
        behind = (*block[position + 1 :], *rest) if deposits or isinstance(node, Choice) else ()
        if isinstance(node, Act) and deposits and not _is_told_more(node):
            yield from _in_vain(node, behind, alone=alone)
        for inner in blocks_of(node):
            yield from _between(inner, behind, slots, alone=alone)


def _is_rehearsed(function: Reading, found: Finding) -> bool:
    """Whether what is cleared is computed once more, word for word, and no loop does so again and again: the first time
    was to warm up."""
    if any(loop.lineno <= found.site.line <= (loop.end_lineno or 0) for loop in function.loops):
        return False
    lost, step = (one.site.line for one in found.related)
    deposits = function.having(Kind.DEPOSIT)
    first = [_made(function, act) for act in deposits if act.site.line == lost]
    later = [act for act in deposits if found.site.line < act.site.line < step]
    if len(first) != 1 or first[0] is None or not later or any(_made(function, act) != first[0] for act in later):
        return False
    anew = {name.id for name in function.of(ast.Name) if isinstance(name.ctx, ast.Store) and lost < name.lineno < step}
    return anew.isdisjoint(_WORD.findall(first[0]))  # of other data, it is another loss


def _is_seen_between(function: Reading, found: Finding) -> bool:
    """Whether someone who cannot be read may look at it before it is cleared: climb(model, rho), fgm.attack()"""
    lost = found.related[0].site.line
    calls = [call for call in function.of(ast.Call) if lost < call.lineno < found.site.line]
    return any(_may_look(call, path, function) for call in calls if (path := path_of(call.func)) is not None)


def _may_look(call: ast.Call, path: str, function: Reading) -> bool:
    owner, _, name = path.rpartition(".")
    if is_harmless(path, function.scope) or tells(path) or _KEEPS.search(name) or function.scope.lookup(owner or path):
        return False
    given = (part for one in call.args for part in below(one) if isinstance(part, ast.Name | ast.Attribute))
    handed = any(is_model(path_of(part) or "") for part in given)
    alone = bool(owner) and not call.args and any(node.value is call for node in function.of(ast.Expr))
    return handed or (alone and called(path, function.scope) is None)


def _made(function: Reading, deposit: Act) -> str | None:
    """How the loss of a deposit was computed, as it is written."""
    loss = loss_of(deposit.node) if isinstance(deposit.node, ast.Call) else None
    name = path_of(loss) if loss is not None else None
    made = [node for node in function.of(ast.Assign) if name is not None and path_of(node.targets[0]) == name]
    before = [written(node.value) for node in made if node.lineno < deposit.site.line]
    return before[-1] if before else written(loss) if loss is not None and name is None else None


def _is_told_more(deposit: Act) -> bool:
    """backward(retain_graph=True): another loss goes through the same graph, and this one may serve to measure it."""
    return isinstance(deposit.node, ast.Call) and any(keyword.arg for keyword in deposit.node.keywords)


def _in_vain(lost: Act, behind: Block, *, alone: bool) -> Iterator[Finding]:
    ways = _next(behind)
    if any(way is None or way[0].kind is not Kind.CLEAR or way[0].partial for way in ways):
        return
    clear, later = next((way for way in ways if way is not None), (lost, ()))
    if clear.site < lost.site:
        return  # it begins another round of a loop over a few words
    kept = [way[0] for way in _next(later) if way is not None and way[0].kind is Kind.DEPOSIT]
    step = next((act for act in acts_in(later) if act.kind is Kind.CONSUME and act.slot == clear.slot), None)
    if kept and step is not None:
        related = (Related(lost.site, "the gradient is deposited here"), Related(step.site, "and missed here"))
        # Where there are others, the first may be theirs, unless both go through one module.
        certain = alone or not lost.reaches.isdisjoint(kept[0].reaches)
        found = note(REGISTRY["ZG002"], clear.site, certain=certain, related=related, **_NAMES)
        yield found._replace(message=UNUSED.format(clear=clear.what, line=lost.site.line))


def _next(block: Block, most: int = _WAYS) -> list[tuple[Act, Block] | None]:
    """What comes next of deposits, clears and steps on each way through a block, with what follows it; None: nothing
    that is sure."""
    for position, node in enumerate(block):
        rest = block[position + 1 :]
        if isinstance(node, Choice) and most > 0:
            return _next((*node.body, *rest), most - 1) + _next((*node.orelse, *rest), most - 1)
        if isinstance(node, Act) and node.kind in _CYCLE:
            return [(node, rest)]
        if not _is_beside(node):
            return [None]
    return [None]


_NAMES = {"step": "", "clear": "", "deposit": ""}  # of the rule's own message, which is not the one that is told


def _next_step(block: Block) -> Act | None:
    """The step that comes next in any case, if nothing but clips and the like stands before it."""
    for node in block:
        if isinstance(node, Act) and node.kind is Kind.CONSUME:
            return node
        if isinstance(node, Choice):
            yes, no = _next_step(node.body), _next_step(node.orelse)
            if yes is not None and no is not None and yes.slot == no.slot:
                return yes
            if not all(map(_is_beside, (*node.body, *node.orelse))):
                return None
        elif not _is_beside(node):
            return None
    return None


def _is_beside(node: Node) -> bool:
    return isinstance(node, Forget) or (isinstance(node, Act) and node.kind in _BESIDE)


def _surely(node: Node, does: Callable[[Node], bool]) -> bool:
    """Whether every way through `node` does it."""
    if isinstance(node, Choice):
        return all(any(_surely(inner, does) for inner in arm) for arm in (node.body, node.orelse))
    return does(node)


def _deposits(node: Node) -> bool:
    return isinstance(node, Act) and node.kind is Kind.DEPOSIT
