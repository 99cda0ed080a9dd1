"""zerograd diff: what changed from one run to the next."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zerograd.cli.options import Parser
from zerograd.errors import UsageError, missing

if TYPE_CHECKING:
    from zerograd.report.comparing import Report

FORMATS = ("text", "markdown", "json", "html")
EXAMPLES = """\
  zerograd diff before.traces after.traces      folders, as zerograd run --trace writes them
  zerograd diff before.json after.json          reports that were kept: zerograd report -o before.json
  zerograd diff a.traces b.traces --output-format html -o diff.html"""


def parser() -> Parser:
    parser = Parser("diff", "Compare two runs. Exit 1 if the second one has a new error or warning.", examples=EXAMPLES)
    parser.add_argument("before", metavar="A", help="a trace, a folder of traces, or a report as JSON")
    parser.add_argument("after", metavar="B", help="the same for the later run")
    parser.add_argument("--output-format", choices=FORMATS, default="text", help="default: text")
    parser.add_argument("-o", "--output-file", metavar="FILE", help="the file to write (default: standard output)")
    return parser


def main(argv: Sequence[str]) -> int:
    from zerograd.report.changes import as_markdown, as_object, as_page, as_text  # 30 ms: rules and reports
    from zerograd.report.comparing import compare

    options = parser().parse_args(argv)
    names = (options.before, options.after)
    comparison = compare(_report(options.before), _report(options.after))
    if options.output_format == "json":
        text = json.dumps(as_object(comparison, names), indent=2, allow_nan=False) + "\n"
    else:
        text = {"text": as_text, "markdown": as_markdown, "html": as_page}[options.output_format](comparison, names)
    if options.output_file:
        _save(options.output_file, text)
    else:
        sys.stdout.write(text)
    return 1 if comparison.worse else 0


def _report(path: str) -> "Report":
    """Of traces, or as it was kept."""
    from zerograd.report.data import VERSION, data
    from zerograd.report.story import Story
    from zerograd.report.walk import processes

    if not path.endswith(".json"):
        return data(Story(processes([path])))
    try:
        kept = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError:
        raise missing("report", path, slug="unknown-path") from None
    except ValueError:
        kept = None
    if not isinstance(kept, dict) or kept.get("version") != VERSION or "lanes" not in kept:
        cure = "Write one: zerograd report TRACES -o report.json."
        raise UsageError(f"{path}: is no report of this zerograd", cure=cure, slug="not-a-trace")
    return kept


def _save(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}", slug="output-file") from None
