"""zerograd rule: the rules as a table; what one means, with a program that breaks it and one that does not."""

import json
import sys
from collections.abc import Sequence

from zerograd.cli.options import Parser
from zerograd.errors import unknown
from zerograd.report.rules import as_object, as_page, as_rows
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Rule

EXAMPLES = """\
  zerograd rule                  all rules, one line each
  zerograd rule ZG001            one rule, explained
  zerograd rule stale            by a word of its name
  zerograd rule ZG2              all rules whose codes begin with ZG2
  zerograd rule --all --output-format json"""


def parser() -> Parser:
    parser = Parser("rule", "List the rules, or explain some of them.", examples=EXAMPLES)
    parser.add_argument("rules", nargs="*", metavar="RULE", help="a code, its beginning, a name or a word of it")
    parser.add_argument("--all", action="store_true", help="explain every rule")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    return parser


def main(argv: Sequence[str]) -> int:
    options = parser().parse_args(argv)
    every = list(REGISTRY.values())
    groups = [_found(word) for word in options.rules] or [every]
    rules = every if options.all else [rule for rule in every if any(rule in group for group in groups)]
    if options.output_format == "json":
        print(json.dumps([as_object(rule) for rule in rules], indent=2))
    elif options.all or all(len(group) == 1 for group in groups):
        _explain(rules)
    else:
        _list(rules)
    return 0


def _found(word: str) -> list[Rule]:
    """The rule of that code or name; else those whose codes begin so, or whose names contain the word."""
    code, name = word.upper(), word.lower()
    exact = [rule for rule in REGISTRY.values() if code == rule.code or name == rule.name]
    several = [rule for rule in REGISTRY.values() if rule.code.startswith(code)] if code.startswith("ZG") else []
    named = [rule for rule in REGISTRY.values() if name in rule.name] if len(name) > 2 else []
    # One rule whose code begins so is as likely a slip: it is named, not shown.
    found = exact or (several if len(several) > 1 else []) or named
    if not found:
        words = [*REGISTRY, *(rule.name for rule in REGISTRY.values())]
        raise unknown("rule", word, words, slug="unknown-rule")
    return found


def _explain(rules: list[Rule]) -> None:
    text = "\n".join(as_page(rule) for rule in rules)
    if not sys.stdout.isatty():
        print(text, end="")
        return
    from rich.console import Console  # 50 ms, paid only before a terminal
    from rich.markdown import Markdown

    Console().print(Markdown(text))


def _list(rules: list[Rule]) -> None:
    head, *rows = as_rows(rules)
    if not sys.stdout.isatty():
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for row in (head, *rows):
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in head:
        table.add_column(name, no_wrap=name != head[-1])
    for row in rows:
        table.add_row(*row)
    Console().print(table)
