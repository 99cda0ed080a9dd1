"""Does an optimizer step what its losses go through? See [Note: replaced]."""

import ast
from collections.abc import Iterator

from zerograd.core.world import Orphaned, Orphaning
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.replacing import is_brought
from zerograd.source.questions import unowned


def orphaned(ex: Execution) -> Iterator[Orphaned]:
    yield from (one for one, _, _ in ex.orphaned.values())
    for one, optimizer in ex.brought.values():
        # Where networks come out of a file too, they may be those that it was saved with.
        with_it = any(slot[0] is optimizer and is_brought(slot[1]) for slot in ex.tables.slots)
        if not with_it:
            yield one
    for layer, certain in unowned.made_each_time(ex):
        assert layer.site is not None
        made = layer.key[2]
        what = ast.unparse(made) if isinstance(made, ast.AST) else "this"
        yield Orphaned(layer.site, Orphaning.EACH_TIME, what, "self", "", None, certain)
