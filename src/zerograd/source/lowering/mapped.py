"""Functions that are handed to somebody who runs them: what they may do there.

list(map(lambda loss: loss.backward(), losses))
deque(map(torch.Tensor.backward, losses), maxlen=0)
list(map(methodcaller("backward"), losses))
pool.submit(go_backward, loss)
"""

import ast
import re
from collections.abc import Callable

from zerograd.core.events import Kind
from zerograd.core.facts import ALL_DOUBTS, NO_DOUBT, Doubts
from zerograd.source.lowering.skeleton import Act, Block, Blur, Call, walk
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import BUILTINS

RUNS = frozenset(
    {"map", "imap", "imap_unordered", "map_async", "starmap", "submit", "apply", "apply_async", "filter", "reduce"}
    | {"methodcaller", "getattr", "partial", "Thread", "Process", "run_in_executor", "delayed"}
)
_PICKED = pattern(r"optimi[sz]er|^opt$|_opt$|loss|hook|callback|(^|_)cb$|^self$|trainer")
_DEPOSITS: Doubts = frozenset({Kind.DEPOSIT})
_LOSSES = pattern(r"loss|objective|cost|(^|_)err")
_COMPUTES = pattern(r"loss|criteri|forward|metric|encod|decod|score")
_TRAINS = pattern(r"back|step|train|updat|optim|zero|clear|hook|callback")


def picked_by_name(asked: ast.Call, call: ast.Call, scope: Scope, is_idle: Callable[[Function], bool]) -> Doubts:
    """What a call of what another call returned may do, by running what that was asked for."""
    trains = path_of(asked.func) == "getattr" and _may_train(asked, call, scope, is_idle)
    return ALL_DOUBTS if trains else NO_DOUBT


def handed_on(call: ast.Call, scope: Scope, is_idle: Callable[[Function], bool]) -> Doubts:
    """What a call of one of RUNS may do by running what it is handed."""
    found = NO_DOUBT
    for given in (*call.args, *(keyword.value for keyword in call.keywords)):
        match given:
            case ast.Attribute(attr="backward") | ast.Constant(value="backward"):
                found |= _DEPOSITS
            case ast.Name() | ast.Attribute() if (path := path_of(given)) is not None and "[" not in path:
                run = scope.function(path)
                if run is not None and not is_idle(run):
                    return ALL_DOUBTS
                if run is None and path not in BUILTINS and _is_over_losses(call, given):
                    found |= _DEPOSITS
    return found


def _may_train(asked: ast.Call, call: ast.Call, scope: Scope, is_idle: Callable[[Function], bool]) -> bool:
    """getattr(optimizer, name)(), getattr(hook, "before")(self): a method that is picked by its name."""
    owner, name = (path_of(asked.args[0]) or "", written(asked.args[1]).lower()) if len(asked.args) > 1 else ("", "")
    if any(isinstance(one, ast.Name) and one.id == "self" for one in call.args):
        return True
    own = _own_methods(asked.args[1], scope) if owner == "self" else []
    if own:
        return not all(map(is_idle, own))
    last = owner.rpartition(".")[2].lower()
    if _PICKED.search(last) is None or _TRAINS.search(name) is not None:
        return _PICKED.search(last) is not None
    return not (call.args and ("loss" in last or _COMPUTES.search(name)))  # getattr(losses, args.loss)(out, y)


def _own_methods(name: ast.expr, scope: Scope) -> list[Function]:
    """The methods that getattr(self, f"{kind}_loss") may stand for, by what is written of their names."""
    if not isinstance(name, ast.JoinedStr) or scope.owner is None:
        return []
    parts = (re.escape(str(one.value)) if isinstance(one, ast.Constant) else r"\w*" for one in name.values)
    written_so = re.compile("".join(parts))
    methods = {word: method for cls in scope.owner.lineage() for word, method in cls.functions.items()}
    return [method for word, method in methods.items() if written_so.fullmatch(word)]


def _is_over_losses(call: ast.Call, given: ast.expr) -> bool:
    """map(go_backward, losses), of a function that cannot be read."""
    others = [path_of(part) or "" for one in call.args[1:] for part in below(one)]
    return bool(call.args) and given is call.args[0] and any(_LOSSES.search(other.lower()) for other in others)


def kinds_inside(events: Block, is_idle: Callable[[Function], bool]) -> Doubts:
    """What a lambda does when somebody runs it."""
    found = NO_DOUBT
    for node in walk(events):
        if isinstance(node, Act):
            found |= {node.kind}
        elif isinstance(node, Blur):
            found |= node.kinds
        elif isinstance(node, Call) and not is_idle(node.function):
            return ALL_DOUBTS
    return found
