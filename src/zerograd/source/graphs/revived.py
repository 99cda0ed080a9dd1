"""Values that were cut from their graph and made leaves again: loss = torch.tensor(loss, requires_grad=True).

backward() does not complain of them; it stops there. Where somebody asks such a leaf for its gradient, gives it to an
optimizer or hands it on, that is what it was made for.
"""

import ast
from collections.abc import Callable
from functools import lru_cache

from zerograd.source.graphs.leaves import leaves_of, makes_leaf, moved
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import is_term
from zerograd.source.values.reading import File, Reading

_COPIES = frozenset({"tensor", "Variable", "as_tensor", "Tensor", "FloatTensor"})
_ASKS = pattern(
    r"autograd\.|(?<!_)\bgrad\(|create_graph|jacobian|retain_grad\(|_hook\(|inputs="
    r"|(SGD|Adam\w*|LBFGS|RMSprop|Adagrad|[Oo]ptim\w*)\(\s*(params=)?\[(?!\s*\{)|add_param_group"
)
_HARMLESS = pattern(r"autograd\.(Variable|set_detect_anomaly|detect_anomaly|profiler|no_grad)\b|import .*")


def copied_by(call: ast.Call, dotted: Callable[[str], str]) -> ast.expr | None:
    """What a leaf is made of: out, for torch.tensor(out, requires_grad=True) and out.detach().requires_grad_()."""
    match call.func:
        case ast.Attribute(value=value, attr="requires_grad_"):
            return value
    path = dotted(path_of(call.func) or "")
    copies = path.startswith("torch.") and path.rpartition(".")[2] in _COPIES
    return call.args[0] if copies and call.args and not isinstance(call.args[0], ast.Starred) else None


def are_idle(function: Reading) -> bool:
    """Whether nobody asks the leaves of a function for their gradients: nothing in its file does, nor whoever is
    handed one."""
    return not _asks(function.file) and not _hands_on(function)


@lru_cache(maxsize=2)  # asked of every value of a function
def _asks(file: File) -> bool:
    return file.reads_gradients or _ASKS.search(_HARMLESS.sub("", file.text)) is not None


@lru_cache(maxsize=4)
def _hands_on(function: Reading) -> bool:
    """return leaf, self.leaf = leaf, leaves.append(leaf), [leaf]: but nobody asks for the gradient of a loss."""
    made = [node for node in function.of(ast.Assign) if makes_leaf(moved(node.value))]
    paths = {path_of(target) or "?" for node in made for target in node.targets}
    names = {one for one in paths | leaves_of(function) if not is_term(one.rpartition(".")[2].lower())}
    if any(not one.isidentifier() for one in paths & names):
        return True
    backs = [back.value for back in function.of(ast.Return) if back.value is not None]
    kept = [part for value in (*backs, *(node.value for node in function.of(ast.Assign))) for part in _items(value)]
    kept += [part for node in function.of(ast.List) for part in node.elts]
    kept += [one for call in function.of(ast.Call) if _keeps(call) for one in call.args]
    return any(isinstance(part, ast.Name) and part.id in names for part in kept)


def _items(value: ast.expr) -> list[ast.expr]:
    return [*value.elts] if isinstance(value, ast.Tuple) else [value]


def _keeps(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "extend", "insert", "put")
