"""Reading Python 2, and scripts that were notebooks: training loops outlive the language they were written in.

Statements that Python 3 cannot parse and that have nothing to do with gradients are blanked out, column for column, so
that every line keeps its number. Whatever else is wrong with a file stays wrong.
"""

import ast
import re

from zerograd.source.text.lines import lines_of

_PRINT = re.compile(r"^(\s*)print\b(?!\s*\()(?!\s*=).*$")
_EXCEPT = re.compile(r"^(\s*except\s+[\w.()\s,]+?),\s*(\w+)\s*:")
_RAISE = re.compile(r"^(\s*)raise\s+\w[\w.]*\s*,.*$")
_EXEC = re.compile(r"^(\s*)exec\s+[\"'\w].*$")
_CALLED_PRINT = re.compile(r"^(\s*)print\s*\(.*$")
_SHELL = re.compile(r"^(\s*)[!%]%?\w.*$")  # !pip install torch, %matplotlib inline: Colab's downloads have them
_ASYNC = re.compile(r"\basync\s*=(?!=)")  # a keyword of its own since Python 3.7: .cuda(async=True)
_OPENERS, _CLOSERS = "([{", ")]}"
_ATTEMPTS = 40


def read_python2(text: str) -> ast.Module | None:
    """The tree of a text that would be Python 3 but for such statements; None if it would not."""
    lines = [_mend(line) for line in _joined(lines_of(text))]
    for _ in range(_ATTEMPTS):
        try:
            return ast.parse("\n".join(lines))
        except SyntaxError as error:
            number = (error.lineno or 0) - 1
            if not 0 <= number < len(lines) or not _blank(lines, number):
                return None
        except (ValueError, RecursionError, MemoryError):
            return None
    return None


def _joined(lines: list[str]) -> list[str]:
    """A print statement that goes on over several lines is blanked as a whole."""
    out = list(lines)
    number = 0
    while number < len(out):
        first = number
        if _PRINT.match(out[number]):
            depth = _depth(out[number])
            while (depth > 0 or out[number].rstrip().endswith("\\")) and number + 1 < len(out):
                number += 1
                depth += _depth(out[number])
                out[number] = ""
            if number > first:
                out[first] = out[first].rstrip().rstrip("\\")
                out[first] = _PRINT.sub(r"\1pass", out[first])
        number += 1
    return out


def _depth(line: str) -> int:
    return sum(line.count(opener) for opener in _OPENERS) - sum(line.count(closer) for closer in _CLOSERS)


def _mend(line: str) -> str:
    line = _ASYNC.sub("async_=", line)
    line = _PRINT.sub(r"\1pass", line)
    line = _EXCEPT.sub(r"\1 as \2:", line)
    line = _RAISE.sub(r"\1raise Exception", line)
    return _EXEC.sub(r"\1pass", line)


def _blank(lines: list[str], number: int) -> bool:
    """Take out the line that does not parse, if it is a print that only looks like a call, or for a shell."""
    match = _CALLED_PRINT.match(lines[number]) or _SHELL.match(lines[number])
    if match is None:
        return False
    lines[number] = f"{match[1]}pass"
    return True
