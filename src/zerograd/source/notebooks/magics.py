"""What IPython takes and Python does not: magics, shell escapes and questions, made into lines that do nothing.

Every line keeps its number, and every line that is Python keeps its columns. A cell that is Python already is left as
it is: a `%` or a `!` at the beginning of one of its lines is inside a string or an expression.
"""

import ast
import re
from typing import NamedTuple

# Cell magics whose body is Python that runs here; any other makes its cell something else: a file, a script, a page.
_PYTHON_CELLS = re.compile(r"%%(?:time|timeit|capture|prun|memit|mprun|lprun|heat|snakeviz|wandb|debug|skip_if)\b")
_MAGIC = re.compile(r"^(\s*)(?:[%!?/,;]|\$)")
_ASSIGNED = re.compile(r"^(\s*[\w.,\[\]\s]+=\s*)[%!].*$")
_QUESTION = re.compile(r"^(\s*)[\w.\[\]()*'\" ]+\?{1,2}\s*$")


class Tamed(NamedTuple):
    """A cell as Python: its text, or why there is none. `changed`: the lines that are not what was written."""

    text: str | None
    changed: frozenset[int] = frozenset()
    trouble: str = ""


def tame(source: str) -> Tamed:
    """The Python of a cell; None, without trouble, for a cell that is something else."""
    if _trouble(source) is None:
        return Tamed(source)
    lines = re.split(r"(\r\n|\r|\n)", source)
    changed: set[int] = set()
    if lines[0].lstrip().startswith("%%"):
        if not _PYTHON_CELLS.match(lines[0].lstrip()):
            return Tamed(None)
        lines[0] = ""
        changed.add(1)
    goes_on = False
    for number in range(0, len(lines), 2):
        line = lines[number]
        told = _mute(line) if not goes_on else ""
        if told is not None:
            lines[number] = told
            changed.add(number // 2 + 1)
            goes_on = line.rstrip().endswith("\\")
    text = "".join(lines)
    trouble = _trouble(text)
    return Tamed(text, frozenset(changed)) if trouble is None else Tamed(None, trouble=trouble)


def _mute(line: str) -> str | None:
    """What stands for a line of IPython; None for any other."""
    if (found := _MAGIC.match(line)) is not None or (found := _QUESTION.match(line)) is not None:
        return f"{found[1]}pass"
    found = _ASSIGNED.match(line)
    return f"{found[1]}None" if found is not None else None


def _trouble(text: str) -> str | None:
    try:
        ast.parse(text)
    except SyntaxError as error:
        return error.msg
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error)
    return None
