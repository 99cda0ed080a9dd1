"""The options of zerograd check."""

from argparse import ArgumentTypeError
from typing import Any

from zerograd.cli.options import Parser
from zerograd.report.formats import FORMATS

CACHE = ".zerograd_cache"  # at the root of the project
EXAMPLES = """\
  zerograd check .                          every Python file below here
  zerograd check train.py --possible        also show possible findings
  zerograd check . --watch                  again, whenever a file changes
  zerograd check - < train.py               standard input
  zerograd check . --diff --unsafe-fixes    what the fixes would change
  zerograd check . --output-format github   annotations in a pull request
  zerograd check . --add-ignore             ignore all present findings, and start clean"""


def parser() -> Parser:
    parser = Parser(
        "check", "Find gradient bugs in Python files. Nothing is executed; torch is not needed.", examples=EXAMPLES
    )
    parser.add_argument(
        "paths",
        nargs="*",
        default=["."],
        metavar="PATH",
        help="files or folders (default: .); @FILE reads them from FILE",
    )
    _add_rules(parser)
    _add_files(parser)
    _add_fixes(parser)
    _add_adoption(parser)
    _add_output(parser)
    return parser


def _add_rules(parser: Parser) -> None:
    add = parser.add_argument_group("which findings").add_argument
    add("--select", metavar="RULES", **_LIST, help="codes, prefixes, names or ALL, comma-separated (default: ALL)")
    add("--extend-select", metavar="RULES", **_LIST, help="add rules to those of the config file")
    add("--ignore", metavar="RULES", **_LIST, help="rules to leave out")
    add(
        "--possible",
        action="store_true",
        default=None,
        help="also show possible findings: those that depend on something unknown",
    )
    add("--notes", action="store_true", default=None, help="also show notes: what only costs time or memory")


def _add_files(parser: Parser) -> None:
    add = parser.add_argument_group("which files").add_argument
    add("--exclude", metavar="GLOBS", **_LIST, help="skip these instead of the usual ones (build, venv, ...)")
    add("--extend-exclude", metavar="GLOBS", **_LIST, help="skip these as well")
    add("--force-exclude", action="store_true", default=None, help="skip excluded files even if they are named here")
    add(
        "--no-respect-gitignore",
        dest="respect_gitignore",
        action="store_false",
        default=None,
        help="also read files that git ignores",
    )
    add("--stdin-filename", metavar="PATH", default="<stdin>", help="the file name to show for standard input")
    add("--config", metavar="FILE", help="use this config file")
    add("--isolated", action="store_true", help="use no config file")


def _add_fixes(parser: Parser) -> None:
    add = parser.add_argument_group("fixes").add_argument
    add("--fix", action="store_true", help="apply the fixes that leave the training unchanged")
    add("--unsafe-fixes", action="store_true", help="with --fix or --diff: also fixes that change the training")
    add("--diff", action="store_true", help="show what --fix would write, and write nothing")
    add("--exit-non-zero-on-fix", action="store_true", help="exit 1 if something was fixed")


def _add_adoption(parser: Parser) -> None:
    add = parser.add_argument_group("adoption").add_argument
    add("--add-ignore", action="store_true", help="add an ignore comment to every finding, and exit 0")
    add("--baseline", metavar="FILE", help="report only findings that are not in FILE")
    add("--write-baseline", action="store_true", help="write the current findings to the baseline, and exit 0")
    add("--statistics", action="store_true", help="count the findings of each rule")
    add("--exit-zero", action="store_true", help="exit 0 even with findings")


def _add_output(parser: Parser) -> None:
    add = parser.add_argument_group("output").add_argument
    add("--output-format", metavar="FORMAT", help=f"{', '.join(FORMATS)} (default: full)")
    add("--output-file", metavar="FILE", help="write the findings to FILE instead of standard output")
    add("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    add("--watch", action="store_true", help="check again whenever a file changes, until Ctrl-C")
    add("-q", "--quiet", action="store_true", help="do not print the closing line")
    add("--no-cache", action="store_true", help=f"do not use {CACHE}")
    add("--jobs", metavar="N", type=_at_least_one, help="number of processes (default: chosen automatically)")


def _words(text: str) -> list[str]:
    return [word for word in map(str.strip, text.split(",")) if word]


def _at_least_one(word: str) -> int:
    if not word.isdecimal() or int(word) < 1:
        raise ArgumentTypeError(f"{word!r} is not a number of processes")
    return int(word)


_LIST: dict[str, Any] = {"action": "extend", "type": _words}  # comma-separated, and again
