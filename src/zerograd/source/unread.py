"""A setting for accumulation that nobody reads, and a loop that steps on every micro-batch (ZG106).

class Config:
    batch_size = 8
    gradient_accumulation_steps = 4     # the last that is heard of it

It must be more than 1, be named nowhere else in this file and in those it has to do with (but for telling people, or
for counting the steps that are to come), and the one function that trains must step on everything it deposits at once.
Where a framework may read it, or all settings are handed on together, nothing is said.
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from zerograd.core.events import Kind, Site
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.guarded import acts_in, blocks_of, taken_at_once
from zerograd.source.kindred import imported, kin_of
from zerograd.source.literals import default_of
from zerograd.source.nodes import below, parents_of
from zerograd.source.parsing import parse
from zerograd.source.paths import path_of
from zerograd.source.reading import File
from zerograd.source.skeleton import Act, Block

_SETTING = re.compile(
    r"\b(?!\w*(?:eval|valid|test|pred|ema|metric))\w*"
    r"(?:grad(?:ient)?s?_?acc(?:um|_|s\b|\b)|accum(?:ulat\w*?)?_?(?:grad|step|iter|batch)|\bacc_(?:step|iter)s?)\w*",
    re.IGNORECASE,
)
_WORDS = ("accum", "ACCUM", "grad_acc", "GRAD_ACC", "acc_steps", "ACC_STEPS")
_CONFIGS = re.compile(r"conf|setting|param|option|constant|args|opts|\bcfg")
# Whoever is told by others than its own loop, or hands on what nobody can see.
_READ_ELSEWHERE = re.compile(
    r"accelerate\b|deepspeed|lightning|TrainingArguments|import [^\n]*\bTrainer\b|composer|colossalai|[Ff]abric"
    r"|megatron|fairseq|mmengine|mmcv|horovod|ignite|globals\(\)"
    r"|\*\*\s*(?!kwargs)(?:vars|asdict|self\.|\w*(?:arg|conf|cfg|param|opt|sett))"
    r"|getattr\(\s*\w+\s*,\s*[^\"'\s]|setattr\("
)
_UNUSED = re.compile(
    r"unused|not (?:yet )?(?:used|implemented|supported)|todo|deprecated|ignored|reserved", re.IGNORECASE
)
_TELLERS = frozenset({"print", "info", "debug", "warning", "write", "log", "log_param", "log_params", "echo", "pprint"})
_TOTAL = re.compile(r"(total|num|max|train|warmup|optim|update).*(steps|updates|iters|iterations)$|^t_total$")
_FEW = 4  # settings of one file, and names that one goes by


class _Told(NamedTuple):
    """Where a setting is made, and of how much."""

    line: int
    value: int


def detect(file: File) -> Iterator[Finding]:
    if not (file.says(".step(") and file.says("backward(") and file.says("zero_grad")):
        return
    own = any(map(file.says, _WORDS))
    configured = any(_CONFIGS.search(word.lower()) for word in imported(file.text)) if not own else False
    step = _only_step(file) if own or configured else None
    if step is None or _READ_ELSEWHERE.search(file.text):
        return
    kin = kin_of(file.path, file.asked)
    if kin is None or any(_READ_ELSEWHERE.search(text) for text in kin.values()):
        return
    homes = [(file.path, file.text, file.program.tree)] if own else list(_configs(kin))
    for path, text, tree in homes:
        others = [one for other, one in {**kin, file.path: file.text}.items() if other != path]
        for name in _names_in(text):
            told = _Uses(tree, text).told(name)
            if told is not None and not any(re.search(rf"\b{name}\b", _code(other)) for other in others):
                why = f"{name} is {told.value}, and nobody reads it"
                there = Related(Site(path, told.line), "it is set here")
                yield note(REGISTRY["ZG106"], step.site, certain=True, step=step.what, why=why, related=(there,))
                return


def _names_in(text: str) -> list[str]:
    return list(dict.fromkeys(_SETTING.findall(_code(text))))[:_FEW]


def _code(text: str) -> str:
    """A text without what stands behind # on its lines."""
    return re.sub(r"#[^\n\"']*$", "", text, flags=re.MULTILINE)


def _configs(kin: dict[str, str]) -> Iterator[tuple[str, str, ast.Module]]:
    """The settings of a project that has one file for them, and trains in one."""
    homes = [path for path, text in kin.items() if path.endswith(".py") and _names_in(text)]
    if len(homes) == 1 and not any("backward(" in text for text in kin.values()):
        yield homes[0], kin[homes[0]], parse(kin[homes[0]], homes[0])


def _only_step(file: File) -> Act | None:
    """The step of the only function that trains, if it steps at once on everything that is deposited."""
    program = file.program
    blocks = [
        program.module,
        *(program.function(one) for one in program.roots.functions if one.node in program.relevant),
    ]
    training = [block for block in blocks if any(act.kind in (Kind.DEPOSIT, Kind.CONSUME) for act in acts_in(block))]
    return _at_once(training[0]) if len(training) == 1 else None


def _at_once(block: Block) -> Act | None:
    acts = acts_in(block)
    deposits, clears = ([act for act in acts if act.kind is kind] for kind in (Kind.DEPOSIT, Kind.CLEAR))
    taken = [(act, step) for inner in _blocks(block) for act, step in taken_at_once(inner)]
    if not clears or not deposits or len(taken) != len(deposits):
        return None
    return taken[0][1]


def _blocks(block: Block) -> Iterator[Block]:
    yield block
    for node in block:
        for inner in blocks_of(node):
            yield from _blocks(inner)


class _Uses:
    """What is done with a setting in one file."""

    def __init__(self, tree: ast.Module, text: str) -> None:
        self._nodes: list[ast.AST] = below(tree)
        self._parents = parents_of(tree)
        self._lines = text.split("\n")
        self._functions = [one for one in self._nodes if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]

    def told(self, name: str, others: tuple[str, ...] = ()) -> _Told | None:
        """Where the setting is made, if it is more than 1 and nobody uses it."""
        made: list[_Told] = []
        for node in self._nodes:
            if not self._mentions(node, name):
                continue
            value = self._made(node, name)
            if value is not None:
                made.append(_Told(getattr(node, "lineno", 0), value))
            elif not self._is_harmless(node, (*others, name)):
                return None
        many = all(one.value > 1 for one in made) and not any(_UNUSED.search(self._near(one.line)) for one in made)
        return made[0] if made and many else None

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
        while around is not None and not isinstance(around, ast.stmt):
            if isinstance(around, ast.Call) and (path_of(around.func) or "").rpartition(".")[2] in _TELLERS:
                return True
            around = self._parents.get(around)
        match around:
            case ast.Assign(targets=[target], value=value):
                kept = (path_of(target) or "").rpartition(".")[2]
                if target is node:
                    return _SETTING.fullmatch((path_of(value) or "").rpartition(".")[2]) is not None
                if value is node and _SETTING.fullmatch(kept):
                    return self._is_kept(kept, names)
                return _TOTAL.search(kept.lower()) is not None
        return False

    def _mentions_call(self, handed: ast.keyword) -> bool:
        call = self._parents.get(handed)
        return isinstance(call, ast.Call) and self._is_ours(path_of(call.func), handed.arg or "")

    def _is_kept(self, name: str, names: tuple[str, ...]) -> bool:
        """Whether another name that it goes by is not read either."""
        if name in names:
            return True
        if not _SETTING.fullmatch(name) or len(names) > _FEW:
            return False
        return all(
            self._made(one, name) is not None or self._is_stored(one) or self._is_harmless(one, (*names, name))
            for one in self._nodes
            if self._mentions(one, name)
        )

    def _is_stored(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    arguments = function.args
    return {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
