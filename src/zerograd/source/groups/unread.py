"""A setting for accumulation that nobody reads, and a loop that steps on every micro-batch (ZG106).

class Config:
    batch_size = 8
    gradient_accumulation_steps = 4     # the last that is heard of it

It must be more than 1, or be multiplied into a rate, a schedule or the batch size that is told; be named nowhere else
in this file and in those it has to do with (but for telling people, or for counting the steps that are to come), and
the one function that trains must step on everything it deposits at once. Where a framework may read it, or all settings
are handed on together, nothing is said. A parameter of the function that trains nobody else can read.
"""

import ast
import os
import re
from collections.abc import Iterator
from functools import lru_cache

from zerograd.core.events import Kind, Site
from zerograd.core.findings import Finding, Related
from zerograd.errors import SourceError
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.files.beside import text_of
from zerograd.source.files.kindred import kin_of
from zerograd.source.groups.settings import SETTING, Told, Uses
from zerograd.source.lowering.guarded import acts_in, taken_at_once
from zerograd.source.lowering.skeleton import Act, Block, blocks_of
from zerograd.source.text.parsing import parse
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import File

_WORDS = ("accum", "acc_steps", "grad_acc", "ACCUM", "ACC_STEPS", "GRAD_ACC")
_CONFIGS = pattern(r"conf|setting|param|option|constant|args|opts|\bcfg")
# Whoever is told by others than its own loop, or hands on what nobody can see.
_READ_ELSEWHERE = pattern(
    r"accelerate\b|deepspeed|lightning|TrainingArguments|import [^\n]*\bTrainer\b|composer|colossalai|[Ff]abric"
    r"|megatron|fairseq|mmengine|mmcv|horovod|ignite|globals\(\)"
    r"|\*\*\s*(?!kwargs)(?:vars|asdict|self\.|\w*(?:arg|conf|cfg|param|opt|sett))"
    r"|getattr\(\s*\w+\s*,\s*[^\"'\s]|setattr\("
    # All of them at once, without their names.
    r"|[(,{]\s*\*\*\s*[A-Z]|astuple\(|[Nn]amed[Tt]uple\b|\bfields\("
    r"|(?i:\b(?!kw)\w*(?:conf|cfg|param|sett|default|args|opts?|hp|hyper)\w*)(?:\.values\(|\.items\(|\.__dict__)|dumps\("
    r"|\[\s*f[\"'][^\"'\n]*\}\w*acc"
)
_WAITS = pattern(r"accelerator|deepspeed|lightning|fabric|horovod|locals\(\)|exec\(|eval\([\"']", re.IGNORECASE)
_FEW = 4  # settings of one file


def detect(file: File) -> Iterator[Finding]:
    if not (file.says(".step(") and file.says("backward(") and file.says("zero_grad")):
        return
    found = next(_parameters(file), None)
    if found is not None:
        yield found
        return
    homes = [(file.path, file.text)] if any(map(file.says, _WORDS)) else _configs(file)
    step = _only_step(file) if homes else None
    for path, text in homes if step is not None else ():
        names = _names_in(text)
        if not names or _READ_ELSEWHERE.search(file.text):
            continue
        unread = _unread(names, file.program.tree if path == file.path else _tree(text, path), text)
        kin = kin_of(file.path, file.asked) if unread else None
        if kin is None or any(_READ_ELSEWHERE.search(one) for one in kin.values()):
            continue
        others = [one for other, one in {**kin, file.path: file.text}.items() if other != path]
        if path != file.path and any("backward(" in one for other, one in kin.items() if other != path):
            continue  # whom is it for?
        for name, told in unread.items():
            if step is not None and not any(re.search(rf"\b{name}\b", _code(other)) for other in others):
                yield _tell(step, name, told, path)
                return


def _tell(step: Act, name: str, told: Told, path: str) -> Finding:
    why = f"{name} is {told.value}"
    if told.claims:
        why = f"the settings are multiplied by {name}"
    there = Related(Site(path, told.line), "is set and never read by the loop")
    return note(REGISTRY["ZG106"], step.site, certain=True, step=step.what, why=why, related=(there,))


def _parameters(file: File) -> Iterator[Finding]:
    """Parameters of a function that trains, which only scale what is planned and told."""
    if not any(map(file.says, _WORDS)):
        return
    program = file.program
    for function in program.roots.functions:
        given = function.node.args
        names = [one.arg for one in (*given.args, *given.kwonlyargs) if _is_setting(one.arg)]
        step = _at_once(program.function(function)) if names and function.node in program.relevant else None
        for name in names if step is not None else ():
            told = Uses(function.node, file.text).told(name)
            if step is not None and told is not None and told.claims and _WAITS.search(file.text) is None:
                yield _tell(step, name, told, file.path)


def _is_setting(name: str) -> bool:
    return "acc" in name.lower() and SETTING.fullmatch(name) is not None  # the pattern is a slow one


def _unread(names: list[str], tree: ast.Module | None, text: str) -> dict[str, Told]:
    """Those of the settings of a file that it does not read itself."""
    uses = Uses(tree, text) if tree is not None else None
    return {name: told for name in names if (told := uses.told(name)) is not None} if uses is not None else {}


def _tree(text: str, path: str) -> ast.Module | None:
    try:
        return parse(text, path)
    except SourceError:
        return None


def _names_in(text: str) -> list[str]:
    lines = "\n".join(line for line in text.split("\n") if "acc" in line.lower())
    return list(dict.fromkeys(SETTING.findall(_code(lines))))[:_FEW] if lines else []


def _code(text: str) -> str:
    """A text without what stands behind # on its lines."""
    return re.sub(r"#[^\n\"']*$", "", text, flags=re.MULTILINE)


def _configs(file: File) -> list[tuple[str, str]]:
    """The files for settings that this one imports, from its folder or the one above, and that name such a one."""
    folder = os.path.dirname(file.path)
    module = file.program.roots.module
    named = {word for names in (module.imports, module.imports.values(), module.stars) for word in names}
    words = sorted({word for name in named for word in name.split(".") if _is_for_settings(word)})[:_FEW]
    paths = [os.path.normpath(os.path.join(folder, up, f"{word}.py")) for word in words for up in ("", os.pardir)]
    found = [path for path in paths if os.path.isfile(path) and os.path.isfile(file.path)]
    file.asked.update(found)
    return [(path, text) for path in found if _names_in(text := _text(path))]


@lru_cache(maxsize=1024)  # most files import the same few
def _is_for_settings(word: str) -> bool:
    return _CONFIGS.search(word.lower()) is not None


def _text(path: str) -> str:
    try:
        return text_of(path)
    except (SourceError, OSError):
        return ""


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
