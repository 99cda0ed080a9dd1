"""zerograd explain: how one finding came about, step by step; what a rule means; what an error means."""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from zerograd.cli.options import Parser
from zerograd.errors import UsageError, unknown

if TYPE_CHECKING:
    from zerograd.report.path import Way

EXAMPLES = """\
  zerograd explain train.py:10       the findings on that line, step by step
  zerograd explain traces ZG001      the events of a traced run that led to it
  zerograd explain ZG001             a rule
  zerograd explain missing-extra     an error, by the name at the end of its message
  zerograd explain --all             every error"""


def parser() -> Parser:
    about = "Explain a finding step by step, a rule, or an error of zerograd."
    parser = Parser("explain", about, examples=EXAMPLES)
    parser.add_argument("words", nargs="*", metavar="WORD", help="PATH, PATH:LINE, a rule, an error")
    parser.add_argument("--all", action="store_true", help="every error")
    return parser


def main(argv: Sequence[str]) -> int:
    options = parser().parse_args(argv)
    places = [place for place in map(_place, options.words) if place is not None]
    if places:
        rules = [word for word in options.words if _place(word) is None]
        return _explain_findings(places, rules)
    texts = [_text(word) for word in options.words]
    if options.all or not options.words:
        from zerograd.report.errors import entries

        texts = [f"{word}\n\n{text}" for word, text in entries().items()]
    print("\n\n".join(text.rstrip("\n") for text in texts))
    return 0


def _place(word: str) -> tuple[str, int] | None:
    """A file or folder, and a line of it; 0: all of it. With the column that findings come with, or without."""
    if os.path.exists(word):
        return word, 0
    path, numbers = word, list[str]()
    while path.rpartition(":")[2].isdecimal():
        path, _, number = path.rpartition(":")
        numbers.append(number)
    return (path, int(numbers[-1])) if numbers and os.path.exists(path) else None


def _text(word: str) -> str:
    from zerograd.report.errors import entries
    from zerograd.report.rules import as_page
    from zerograd.rules import REGISTRY

    errors = entries()
    if word in errors:
        return f"{word}\n\n{errors[word]}"
    rule = next((rule for rule in REGISTRY.values() if word in (rule.code, rule.name)), None)
    if rule is None:
        names = [name for one in REGISTRY.values() for name in (one.code, one.name)]
        raise unknown("error, rule or path", word, [*errors, *names], slug="unknown-error")
    return as_page(rule)


def _explain_findings(places: Sequence[tuple[str, int]], words: Sequence[str]) -> int:
    from zerograd.report.path import as_text
    from zerograd.rules import select

    codes = select(words or ["ALL"])
    told = [as_text(way) for path, line in places for way in _ways(path, line) if way.finding.code in codes]
    if not told:
        where = ", ".join(f"{path}:{line}" if line else path for path, line in places)
        cure = "zerograd check --possible --notes, and zerograd report, list what there is."
        raise UsageError(f"nothing was found at {where}", cure=cure, slug="unknown-finding")
    print("\n".join(told), end="")
    return 0


def _ways(path: str, line: int) -> "Iterator[Way]":
    from zerograd.report.path import way_of, ways_of

    if os.path.isdir(path) or path.endswith(".jsonl"):
        from zerograd.report.walk import processes

        for process in processes([path]):
            yield from ways_of(process)
        return
    from zerograd.report.documents import Documents
    from zerograd.source.files.discover import read_text
    from zerograd.source.sweep import Reader, Settings

    found, _ = Reader(Settings()).judge(read_text(path), path)
    documents = Documents()
    for finding in found:
        if not line or finding.site.line <= line <= max(finding.site.line, finding.site.end_line):
            yield way_of(finding, documents)
