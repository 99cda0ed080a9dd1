"""Other names for the same things. Each rewrite renames one sort of binding wherever it is meant, and nothing else.

Two modes. With role words kept a name keeps the one word that tells a reader what the thing is: `train_opt2` becomes
`opt_7`. With role words renamed too nothing is left but a letter and a number.
"""

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from laws.reader.rewrites.scopes import FUNCTIONS, Binding, Names, arguments

ROLE_WORDS = frozenset(
    {
        *("optimizer", "optimiser", "optim", "opt", "scheduler", "sched", "scaler", "model", "net", "network"),
        *("loss", "criterion", "loader", "accelerator", "fabric"),
    }
)
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LOOKS_AT_NAMES = {"locals", "globals", "vars", "eval", "exec", "dir"}
_SELF = {"self", "cls"}


class Namer:
    """New names, none of which the program has."""

    def __init__(self, tree: ast.Module, *, keep_roles: bool) -> None:
        self._taken = _spelled(tree)
        self._keep, self._count = keep_roles, 0

    def name(self, old: str) -> str:
        role = next((word for word in map(str.lower, _PARTS.findall(old)) if word in ROLE_WORDS), None)
        base = role if self._keep and role else "v"
        while True:
            self._count += 1
            new = f"{base}_{self._count}"
            new = new.capitalize() if old[:1].isupper() else new
            if new not in self._taken:
                return new


def rename_variables(tree: ast.Module, *, keep_roles: bool) -> ast.Module | None:
    """A variable is what its scope binds: every place that means it is renamed, so the same values flow."""
    return _renamed(tree, {"variable"}, keep_roles=keep_roles)


def rename_parameters(tree: ast.Module, *, keep_roles: bool) -> ast.Module | None:
    """As with variables, and the keywords of the calls that reach the function. Left alone is a name that any other
    call has as a keyword, and what may be passed by name out of sight: to decorated functions, tests, methods of a
    base."""
    names = Names(tree)
    if any(keyword.arg is None for call in _calls(tree) for keyword in call.keywords):
        return None  # **options may hold any parameter's name
    passed = {id(keyword): binding for keyword, binding in _reached(names)}
    foreign = {keyword.arg for call in _calls(tree) for keyword in call.keywords if id(keyword) not in passed}
    called_by_others = [*_methods_of_open_classes(tree), *_decorated_or_tests(tree)]
    kept = {id(arg) for function in called_by_others for arg in arguments(function.args)}

    def is_free(binding: Binding) -> bool:
        own = [one.node for one in names.bindings[binding] if one.role == "parameter"]
        return binding.name not in foreign and not any(id(node) in kept for node in own)

    keywords = [
        (keyword, passed[id(keyword)]) for call in _calls(tree) for keyword in call.keywords if id(keyword) in passed
    ]
    return _renamed(tree, {"parameter"}, keep_roles=keep_roles, names=names, allowed=is_free, keywords=keywords)


def rename_functions(tree: ast.Module, *, keep_roles: bool) -> ast.Module | None:
    """A function of the file is known by its name in the file alone."""
    return _renamed(tree, {"function"}, keep_roles=keep_roles)


def rename_classes(tree: ast.Module, *, keep_roles: bool) -> ast.Module | None:
    """As with functions."""
    return _renamed(tree, {"class"}, keep_roles=keep_roles)


def rename_attributes(tree: ast.Module, *, keep_roles: bool) -> ast.Module | None:
    """An attribute or method that only objects of this file's classes are asked for, none of which has a base that
    could know it: then all who can mean it are in sight."""
    names = Names(tree)
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    ours = [node for node in attributes if _is_of_our_own(node.value, names)]
    theirs = {node.attr for node in attributes} - {node.attr for node in ours}
    theirs |= {node.attr for node in attributes if node not in ours}
    methods = [one for cls in _classes(tree) for one in cls.body if isinstance(one, FUNCTIONS[:2])]
    set_here = {node.attr for node in ours if isinstance(node.ctx, ast.Store)} | {one.name for one in methods}
    fields = {
        name.id
        for cls in _classes(tree)
        for one in cls.body
        if isinstance(one, ast.Assign | ast.AnnAssign | ast.AugAssign)
        for name in ast.walk(one)
        if isinstance(name, ast.Name)
    }
    open_to_others = {
        node.attr for cls in _classes(tree) if not _is_closed(cls, tree) for node in ast.walk(cls)
        if isinstance(node, ast.Attribute)
    } | {one.name for one in _methods_of_open_classes(tree)}  # fmt: skip
    free = set_here - theirs - fields - open_to_others - _known_to_torch() - _strings(tree)
    free = {name for name in free if not name.startswith("__")}
    if not free or _looks_at_names(tree):
        return None
    namer = Namer(tree, keep_roles=keep_roles)
    new = {name: namer.name(name) for name in sorted(free)}
    for node in ours:
        node.attr = new.get(node.attr, node.attr)
    for method in methods:
        method.name = new.get(method.name, method.name)
    return tree


def rename_all(tree: ast.Module, *, keep_roles: bool) -> ast.Module | None:
    """One after the other, as far as each applies: a name that one of them gave is left alone by the next."""
    sorts = (rename_variables, rename_parameters, rename_attributes, rename_functions, rename_classes)
    applied = [rename(tree, keep_roles=keep_roles) is not None for rename in sorts]
    return tree if any(applied) else None


def _renamed(
    tree: ast.Module,
    roles: set[str],
    *,
    keep_roles: bool,
    names: Names | None = None,
    allowed: Callable[[Binding], bool] = lambda binding: True,
    keywords: Iterable[tuple[ast.keyword, Binding]] = (),
) -> ast.Module | None:
    """The tree with every binding of these roles renamed; None where there is none or where names are looked at."""
    names = names or Names(tree)
    if _looks_at_names(tree):
        return None
    namer = Namer(tree, keep_roles=keep_roles)
    new: dict[Binding, str] = {}
    for binding in names.bindings:
        in_class = isinstance(binding.scope.node, ast.ClassDef)  # an attribute of the class
        fixed = in_class or binding.name in _SELF or _is_given(binding.name)
        if names.roles(binding) == roles and not fixed and allowed(binding):
            new[binding] = namer.name(binding.name)
    for binding, name in new.items():
        for occurrence in names.bindings[binding]:
            occurrence.rename(name)
    for keyword, binding in keywords:
        keyword.arg = new.get(binding, keyword.arg)
    return tree if new else None


def _is_given(name: str) -> bool:
    """Names that Python or its habits give a meaning to."""
    return name.startswith("__") or name == "_" or hasattr(builtins, name)


def _spelled(tree: ast.AST) -> set[str]:
    """Every identifier of the program, and every word of its strings."""
    names = set(_strings(tree))
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            names |= {one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)}
    return names


def _strings(tree: ast.AST) -> set[str]:
    """The words of the strings that are no docstrings: getattr(self, "net"), a rule by name."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs)
    return {word for text in texts if isinstance(text, str) for word in re.findall(r"\w+", text)}


def _looks_at_names(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.Name) and node.id in _LOOKS_AT_NAMES for node in ast.walk(tree))


def _calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _classes(tree: ast.AST) -> list[ast.ClassDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def _reached(names: Names) -> Iterator[tuple[ast.keyword, Binding]]:
    """Each keyword of a call that surely reaches a function of this file, with the parameter it fills."""
    for call in _calls(names.tree):
        function = called_function(call, names)
        if function is None:
            continue
        own = {one.arg: one for one in (*function.args.args, *function.args.kwonlyargs)}
        for binding, places in names.bindings.items():
            for keyword in call.keywords:
                if keyword.arg in own and any(place.node is own[keyword.arg] for place in places):
                    yield keyword, binding


def called_function(call: ast.Call, names: Names) -> ast.FunctionDef | None:
    """The undecorated function, or the __init__ of the class without bases, of this file that a call by name runs."""
    node = names.definition(call)
    if isinstance(node, ast.ClassDef):
        inits = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
        plain = not node.decorator_list and not node.keywords and _is_closed(node, names.tree)
        node = inits[0] if plain and len(inits) == 1 else None
    return node if node is not None and not node.decorator_list else None


def _is_closed(cls: ast.ClassDef, tree: ast.AST) -> bool:
    """Whether every base is in this file or is torch's, whose names are known."""
    own = {one.name for one in _classes(tree)}
    return all(ast.unparse(base) in own | _TORCH_BASES for base in cls.bases) and not cls.keywords


_TORCH_BASES = {
    "object",
    "nn.Module",
    "torch.nn.Module",
    "Module",
    "torch.optim.Optimizer",
    "optim.Optimizer",
    "Optimizer",
}


def _methods_of_open_classes(tree: ast.AST) -> Iterable[ast.FunctionDef]:
    return [
        one
        for cls in _classes(tree)
        if not _is_closed(cls, tree)
        for one in cls.body
        if isinstance(one, ast.FunctionDef)
    ]


def _decorated_or_tests(tree: ast.AST) -> Iterable[ast.FunctionDef]:
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return [one for one in functions if one.decorator_list or one.name.startswith("test")]


def _is_of_our_own(receiver: ast.expr, names: Names) -> bool:
    """Whether this is surely an object of a class of this file: `self`, or a name that is bound once, to a call of
    one."""
    binding = names.meaning(receiver) if isinstance(receiver, ast.Name) else None
    if binding is None:
        return False
    binds = [one for one in names.bindings[binding] if one.role != "use"]
    if len(binds) != 1:
        return False
    function = binding.scope.node
    if binds[0].role == "parameter" and isinstance(function, ast.FunctionDef):
        owner = names.scope_of[function].node
        first = next(iter(function.args.args), None)
        return isinstance(owner, ast.ClassDef) and not function.decorator_list and first is binds[0].node
    makers = [
        node.value for node in ast.walk(names.tree) if isinstance(node, ast.Assign) and node.targets == [binds[0].node]
    ]
    return bool(makers) and isinstance(makers[0], ast.Call) and isinstance(names.definition(makers[0]), ast.ClassDef)


@lru_cache(maxsize=1)
def _known_to_torch() -> frozenset[str]:
    from torch import Tensor, nn, optim  # two seconds: only who renames attributes waits for it

    return frozenset().union(
        *(dir(one) for one in (Tensor, nn.Module, optim.Optimizer, nn.Linear, optim.lr_scheduler.StepLR))
    )
