"""Settings for accumulation: where they are made, and whether anything is done with them in the same file."""

import ast
import re
from typing import NamedTuple

from zerograd.source.names.literals import default_of
from zerograd.source.text.nodes import below, parents_of
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

SETTING = pattern(
    r"\b(?!\w*(?:eval|valid|test|pred|ema|metric))\w*"
    r"(?:grad(?:ient)?s?_?acc(?:um|_|s\b|\b)|accum(?:ulat\w*?)?_?(?:grad|step|iter|batch)|\bacc_(?:step|iter)s?)\w*",
    re.IGNORECASE,
)
_UNUSED = pattern(
    r"unused|not (?:yet )?(?:used|implemented|supported|needed)|todo|deprecated|ignored|reserved|compatib|no effect"
    r"|no longer|legacy|obsolete|placeholder|kept for|only for",
    re.IGNORECASE,
)
_TELLERS = frozenset({"print", "info", "debug", "warning", "write", "log", "log_param", "log_params", "echo", "pprint"})
_TOTAL = pattern(r"(total|num|max|train|warmup|optim|update).*(steps|updates|iters|iterations)(_per_epoch)?$|^t_total$")
_RATE = pattern(r"(^|_)(lr|learning_rate)$")
_SCHEDULE = frozenset({"num_warmup_steps", "num_training_steps", "total_steps", "T_max"})
_BATCH = pattern(r"^(total|effective|global|real)_(\w+_)?batch_?size$")
_FEW = 4  # names that one goes by


class Told(NamedTuple):
    """Where a setting is made, and of how much."""

    line: int
    value: int
    claims: bool = False  # the rate, the schedule or the batch that is told is multiplied by it


class Uses:
    """What is done with a setting in one file."""

    def __init__(self, tree: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef, text: str) -> None:
        self._nodes: list[ast.AST] = below(tree)
        self._parents = parents_of(tree)
        self._lines = text.split("\n")
        self._functions = [one for one in self._nodes if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]

    def told(self, name: str, others: tuple[str, ...] = ()) -> Told | None:
        """Where the setting is made, if nobody uses it: and it is more than 1, or other numbers claim that it works."""
        made: list[Told] = []
        claims = False
        for node in self._nodes:
            if not self._mentions(node, name):
                continue
            value = self._made(node, name)
            if value is not None:
                made.append(Told(getattr(node, "lineno", 0), value))
            elif self._claims(node):
                claims = True
            elif not self._is_harmless(node, (*others, name)):
                return None
        many = all(one.value > (0 if claims else 1) for one in made) and not any(
            _UNUSED.search(self._near(one.line)) for one in made
        )
        return made[0]._replace(claims=claims) if made and many else None

    def _claims(self, node: ast.AST) -> bool:
        """lr = rate * N, schedule(num_training_steps=steps * N), total_batch_size = size * N that is only told."""
        around: ast.AST | None = self._parents.get(node)
        child: ast.AST | None = node
        if not isinstance(around, ast.BinOp):
            return False
        while isinstance(around, ast.BinOp) and isinstance(around.op, ast.Mult):
            around, child = self._parents.get(around), around
        match around:
            case ast.keyword(arg=name):
                return name in _SCHEDULE
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is child:
                return _RATE.search(name) is not None or (_BATCH.match(name) is not None and self._is_only_told(name))
        return False

    def _is_only_told(self, name: str) -> bool:
        """Whether a variable is made, and then shown to people alone."""
        named = [one for one in self._nodes if isinstance(one, ast.Name) and one.id == name]
        return all(self._is_told(one) for one in named if isinstance(one.ctx, ast.Load))

    def _is_told(self, node: ast.AST) -> bool:
        around = self._parents.get(node)
        while around is not None and not isinstance(around, ast.stmt):
            if isinstance(around, ast.Call) and _tells(path_of(around.func) or ""):
                return True
            around = self._parents.get(around)
        return False

    def _near(self, line: int) -> str:
        return "\n".join(self._lines[max(line - 2, 0) : line + 2])

    def _mentions(self, node: ast.AST, name: str) -> bool:
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word) | ast.keyword(arg=word):
                return word == name
            case ast.Constant(value=str() as text):
                return text.lstrip("-").replace("-", "_") == name
            case ast.alias(name=word):
                return word == name
        return False

    def _made(self, node: ast.AST, name: str) -> int | None:
        """The number that a setting is given here."""
        around = self._parents.get(node)
        match node, around:
            case (
                (ast.Name() | ast.Attribute()),
                ast.Assign(targets=[target], value=ast.Constant(value=int() as value)),
            ):
                return value if target is node else None
            case (
                (ast.Name() | ast.Attribute()),
                ast.AnnAssign(target=target, value=ast.Constant(value=int() as value)),
            ):
                return value if target is node else None
            case ast.arg(), ast.arguments():
                return self._default(around, name)
            case ast.Constant(), ast.Dict(keys=keys, values=values):
                given = next((one for key, one in zip(keys, values, strict=True) if key is node), None)
                return given.value if isinstance(given, ast.Constant) and isinstance(given.value, int) else None
            case ast.Constant(), ast.Call(func=ast.Attribute(attr="add_argument"), keywords=keywords):
                given = next((one.value for one in keywords if one.arg == "default"), None)
                return given.value if isinstance(given, ast.Constant) and isinstance(given.value, int) else None
            case ast.keyword(value=ast.Constant(value=int() as value)), ast.Call(func=func):
                return value if path_of(func) == "dict" or self._is_ours(path_of(func), name) else None
        return None

    def _default(self, arguments: ast.arguments, name: str) -> int | None:
        function = self._parents.get(arguments)
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return None
        given = default_of(function, name)
        return given.value if isinstance(given, ast.Constant) and isinstance(given.value, int) else None

    def _is_ours(self, called: str | None, name: str) -> bool:
        """Whether a function or class of this file takes a setting of this name."""
        last = (called or "").rpartition(".")[2]
        classes = [one.name for one in self._nodes if isinstance(one, ast.ClassDef)]
        takes = [one.name for one in self._functions if name in _parameters(one)]
        return last in takes or last in classes

    def _is_harmless(self, node: ast.AST, names: tuple[str, ...]) -> bool:
        """Whether it is only told, kept under another name, handed to a parameter that nobody reads either, or used to
        count the steps that are to come."""
        around = self._parents.get(node)
        if isinstance(node, ast.arg):
            return isinstance(around, ast.arguments)
        if isinstance(node, ast.keyword):
            return self._is_ours(path_of(around.func), names[-1]) if isinstance(around, ast.Call) else False
        if isinstance(around, ast.keyword) and around.arg is not None:
            return self._is_kept(around.arg, names) and self._mentions_call(around)
        if self._is_told(node):
            return True
        while around is not None and not isinstance(around, ast.stmt):
            around = self._parents.get(around)
        match around:
            case ast.Assign(targets=[target], value=value):
                kept = (path_of(target) or "").rpartition(".")[2]
                if target is node:
                    return SETTING.fullmatch((path_of(value) or "").rpartition(".")[2]) is not None
                if value is node and SETTING.fullmatch(kept):
                    return self._is_kept(kept, names)
                return _TOTAL.search(kept.lower()) is not None and _divides(value)
        return False

    def _mentions_call(self, handed: ast.keyword) -> bool:
        call = self._parents.get(handed)
        return isinstance(call, ast.Call) and self._is_ours(path_of(call.func), handed.arg or "")

    def _is_kept(self, name: str, names: tuple[str, ...]) -> bool:
        """Whether another name that it goes by is not read either."""
        if name in names:
            return True
        if not SETTING.fullmatch(name) or len(names) > _FEW:
            return False
        return all(
            self._made(one, name) is not None or self._is_stored(one) or self._is_harmless(one, (*names, name))
            for one in self._nodes
            if self._mentions(one, name)
        )

    def _is_stored(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)


def _divides(value: ast.expr) -> bool:
    """So many updates of so many batches: another name for it alone may be what everybody reads."""
    return any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div | ast.FloorDiv) for part in below(value))


def _tells(called: str) -> bool:
    return called.rpartition(".")[2] in _TELLERS or called.partition(".")[0] in ("wandb", "mlflow")


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    arguments = function.args
    return {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
