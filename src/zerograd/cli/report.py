"""zerograd report: a trace as a page, or for the tools people already look at."""

import os
import sys
from collections.abc import Sequence

from zerograd.cli.options import Parser
from zerograd.errors import UsageError

FORMATS = ("html", "markdown", "json", "csv", "perfetto", "tensorboard")
_BY_SUFFIX = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json", ".csv": "csv"}
EXAMPLES = """\
  zerograd report traces -o report.html                   a page with findings, timeline and charts
  zerograd report run.rank*.jsonl -o report.html          ranks side by side
  zerograd report traces --output-format perfetto -o zerograd.json --beside profiler.json
  zerograd report traces --output-format tensorboard -o runs/zerograd
  zerograd report traces --output-format markdown         to GitHub's step summary, or standard output"""


def parser() -> Parser:
    parser = Parser("report", "Show what happened to every gradient of a traced run.", examples=EXAMPLES)
    parser.add_argument("traces", nargs="+", metavar="TRACE", help="trace files, or folders of them")
    parser.add_argument("-o", "--output-file", metavar="FILE", help="the file to write (default: report.html)")
    parser.add_argument(
        "--output-format", metavar="FORMAT", help=f"{', '.join(FORMATS)} (default: from the name of FILE)"
    )
    parser.add_argument("--beside", metavar="FILE", help="perfetto: a torch.profiler trace to show in the same picture")
    return parser


def main(argv: Sequence[str]) -> int:
    from zerograd.report.writing import write  # 30 ms: rules and pages

    options = parser().parse_args(argv)
    form = options.output_format or _form_of(options.output_file or "")
    if form not in FORMATS:
        from zerograd.errors import unknown

        raise unknown("output format", form, list(FORMATS), slug="unknown-option")
    if options.beside and form != "perfetto":
        raise UsageError("--beside goes with --output-format perfetto", slug="unknown-option")
    written = write(options.traces, form, options.output_file, beside=options.beside)
    if written:
        print(f"zerograd: {written}", file=sys.stderr)
    return 0


def _form_of(file: str) -> str:
    ending = os.path.splitext(file)[1].lower()
    if ending and ending not in _BY_SUFFIX:
        cure = f"Name it {', '.join(_BY_SUFFIX)}; or say --output-format {', '.join(FORMATS)}."
        raise UsageError(f"{file}: no report has the ending {ending!r}", cure=cure, slug="unknown-option")
    return _BY_SUFFIX.get(ending, "html")
