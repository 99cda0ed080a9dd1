"""Where autograd is surely told to look away. (`Reading.without_grad` asks where it may be: that silences.)"""

import ast
from collections.abc import Iterator

from zerograd.source.nodes import written
from zerograd.source.reading import Reading
from zerograd.source.wording import looks_away


def quiet_parts(function: Reading) -> Iterator[ast.AST]:
    """The function itself, or blocks of it."""
    if any(looks_away(written(decorator)) for decorator in getattr(function.node, "decorator_list", ())):
        yield function.node
    for block in function.of(ast.With):
        if any(looks_away(written(item.context_expr)) for item in block.items):
            yield block
