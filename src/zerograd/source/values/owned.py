"""Lists that a function makes empty and fills, and whether anybody else gets to see them, who may empty them again."""

import ast
import builtins

from zerograd.source.text import wording
from zerograd.source.text.nodes import below, holds
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.definitions import Reached, assigned_by, definitions_of
from zerograd.source.values.reading import Reading

READERS = frozenset(dir(builtins)) | {"torch", "numpy", "np", "math", "statistics", "matplotlib", "plt"}
_ARRAYS = frozenset({"zeros", "ones", "empty", "full", "array", "zeros_like", "ones_like", "arange"})
_PLAIN = pattern(r"Tensor$|^(Variable|Parameter|Counter|OrderedDict|Decimal)$")
_KIN = frozenset({"super", "isinstance", "print", "type", "str", "repr", "len", "hasattr", "getattr"})
_KEY = pattern(r"\[([^\[\]]*)\]")


def is_made_empty(function: Reading, root: str, name: str, use: ast.AST, within: ast.AST | None = None) -> bool:
    """losses = [], history = {"loss": []}: of this function's own making, and nobody else gets to see it; `within`: not
    there, and what becomes of it elsewhere does not matter."""
    reached = definitions_of(function).reaching(root, use)
    if "." in root or (reached is not None and is_handed_on(function, root, use, within)):
        return False
    before = [] if reached is None else [*reached.here, *(() if reached.certain else reached.around)]
    made = [one.value for one in before if not one.adds and one.at is None]
    if not made and not function.scope.owns(root):
        return _is_made_at_top(function, root, name)
    return bool(made) and all(begins_empty(value, name[len(root) :]) for value in made)


def begins_empty(value: ast.expr, keys: str = "") -> bool:
    """Whether a list is empty, or that of a dictionary which the keys name: "['train']['loss']"."""
    key = _KEY.match(keys)
    if key is None:
        return is_empty_list(value)
    match value:
        case ast.Dict(keys=names, values=values):
            named = [its for one, its in zip(names, values, strict=True) if _is_key(one, key[1])]
            return all(begins_empty(its, keys[key.end() :]) for its in named or values)
        case ast.Call(func=func, args=[ast.Name(id="list")]):
            return (path_of(func) or "").rpartition(".")[2] == "defaultdict" and key.end() == len(keys)
        case ast.DictComp(value=its) | ast.ListComp(elt=its):
            return begins_empty(its, keys[key.end() :])
        case ast.Call(func=ast.Name(id="dict" | "OrderedDict"), args=[], keywords=[]):
            return True
    return False


def _is_key(name: ast.expr | None, key: str) -> bool:
    return isinstance(name, ast.Constant) and repr(name.value) == key


def _is_made_at_top(function: Reading, root: str, name: str) -> bool:
    """The same of a variable of the file: stats = {}, stats["loss"] = [], and nobody in it hands it on."""
    file = function.file
    top = Reading(file.program.tree, (), file.program.roots.module, file)
    made = [one.value for one in definitions_of(top).every(root) if not one.adds]
    items = [one.value for one in definitions_of(top).every(name) if not one.adds] if root != name else []
    empty = all(map(is_empty_list, items)) if items else all(begins_empty(one, name[len(root) :]) for one in made)
    others = [Reading(one.node, (), one.scope, file) for one in file.program.roots.functions]
    known = [one for one in (top, *others) if any(node.id == root for node in one.of(ast.Name))]
    return bool(made) and empty and not any(is_handed_on(one, root) for one in known)


def is_empty_list(value: ast.expr) -> bool:
    """[], list()"""
    match value:
        case ast.Call(func=ast.Name(id="list"), args=[], keywords=[]):
            return True
    return isinstance(value, ast.List) and not value.elts


def begins_plainly(function: Reading, name: str) -> bool:
    """Whether a sum begins as a number, a tensor, a list or a dictionary: an object of a class may take a number out of
    whatever is added to it, an array of numpy's does, and a queue lets go of it."""
    owner, file = function.scope.owner if name.startswith("self.") else None, function.file
    made = [one.value for one in definitions_of(function).every(name) if not one.adds]
    if owner is not None:
        made += [one.value for _, one in assigned_by(owner, name, file)]
        if owner.method(name[5:]) or owner.method("__setattr__"):
            return False
    elif not made:
        top = Reading(file.program.tree, (), file.program.roots.module, file)
        made = [one.value for one in definitions_of(top).every(name) if not one.adds]
    return not any(_is_object(one) or _is_array(one, function) for one in made)


def _is_object(value: ast.expr) -> bool:
    """Meter(), deque(maxlen=9); but not Variable(torch.zeros(1)), torch.cuda.FloatTensor(1), Counter()"""
    last = (path_of(value.func) or "").rpartition(".")[2] if isinstance(value, ast.Call) else ""
    return last == "deque" or (last[:1].isupper() and _PLAIN.search(last) is None)


def _is_array(value: ast.expr, function: Reading) -> bool:
    """np.zeros(3)"""
    dotted = function.scope.dotted(path_of(value.func) or "") if isinstance(value, ast.Call) else ""
    return dotted.startswith("numpy.") and dotted.rpartition(".")[2] in _ARRAYS


def hands_itself_on(function: Reading) -> bool:
    """hook(self): whoever gets the object may empty what it keeps."""
    calls = [call for call in function.of(ast.Call) if path_of(call.func) not in _KIN]
    return any(isinstance(one, ast.Name) and one.id == "self" for call in calls for one in call.args)


def is_handed_on(function: Reading, name: str, use: ast.AST | None = None, within: ast.AST | None = None) -> bool:
    """Whether someone else gets to see it, who may empty it or go through the graphs: not torch, nor a builtin, nor who
    tells people of one item. `use`: only what the name stands for there; `within`: only there."""
    names = definitions_of(function)
    reached = names.reaching(name, use) if use is not None else None
    begun = {id(one.node) for one in (*reached.here, *reached.around)} if reached is not None else set()
    for call in function.of(ast.Call):
        path = path_of(call.func) or "?"
        if function.scope.dotted(path).partition(".")[0] in READERS or (within is not None and not holds(within, call)):
            continue
        parts = [part for given in (*call.args, *(named.value for named in call.keywords)) for part in below(given)]
        items = {id(part.value) for part in parts if isinstance(part, ast.Subscript) and wording.tells(path)}
        named = [part for part in parts if isinstance(part, ast.Name) and part.id == name and id(part) not in items]
        if any(not begun or _is_same(names.reaching(name, part), begun) for part in named):
            return True
    return False


def _is_same(reached: Reached | None, begun: set[int]) -> bool:
    """Whether a name may still stand for what one of these made."""
    made = [*reached.here, *(() if reached.certain else reached.around)] if reached is not None else []
    return not made or any(id(one.node) in begun for one in made)
