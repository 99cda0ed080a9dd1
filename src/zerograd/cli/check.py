"""zerograd check: read Python files and report gradient bugs."""

import os
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence

from zerograd import __version__
from zerograd.cli.config import Config, load_config
from zerograd.cli.options import Parser
from zerograd.core.findings import Certainty, Finding, Severity, once
from zerograd.errors import UsageError, unknown
from zerograd.report.colour import Paint, wants_colour
from zerograd.report.progress import Bar
from zerograd.report.text import concise, footer, full
from zerograd.source.discover import STDIN, python_files
from zerograd.source.sweep import Settings, Target, sweep

FORMATS = ("full", "concise", "json")
CACHE = ".zerograd_cache"  # in the working directory, like the paths that findings name
EXAMPLES = """\
  zerograd check .                         every Python file below here
  zerograd check train.py --possible       also what a branch may excuse
  zerograd check - < train.py              standard input
  zerograd check . --diff --unsafe-fixes   what the fixes would change
  zerograd check . --output-format json    for programs"""


def parser() -> Parser:
    parser = Parser(
        "check", "Find gradient bugs in source. Nothing is executed; torch is not needed.", examples=EXAMPLES
    )
    parser.add_argument("paths", nargs="*", default=["."], metavar="PATH", help="files or folders (default: .)")
    parser.add_argument("--select", metavar="RULES", help="codes, prefixes or names, comma-separated (default: ALL)")
    parser.add_argument("--ignore", metavar="RULES", help="rules to leave out")
    parser.add_argument("--possible", action="store_true", default=None, help="show findings a branch may excuse")
    parser.add_argument("--notes", action="store_true", default=None, help="show notes")
    parser.add_argument("--fix", action="store_true", help="apply the fixes that keep what is trained")
    parser.add_argument("--unsafe-fixes", action="store_true", help="with --fix or --diff: also those that change it")
    parser.add_argument("--diff", action="store_true", help="show what --fix would write, and write nothing")
    parser.add_argument("--exit-non-zero-on-fix", action="store_true", help="exit 1 if something was fixed")
    parser.add_argument("--output-format", metavar="FORMAT", help=f"{', '.join(FORMATS)} (default: full)")
    parser.add_argument("--output-file", metavar="FILE", help="write findings there instead of to standard output")
    parser.add_argument("--stdin-filename", metavar="PATH", default="<stdin>", help="the name of what - reads")
    parser.add_argument("--exit-zero", action="store_true", help="exit 0 even with findings")
    parser.add_argument("--config", metavar="FILE", help="use this config file")
    parser.add_argument("--isolated", action="store_true", help="use no config file")
    parser.add_argument("--no-cache", action="store_true", help=f"neither use nor fill {CACHE}")
    parser.add_argument("--jobs", metavar="N", type=_at_least_one, help="processes (default: as many as pay)")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    parser.add_argument("-q", "--quiet", action="store_true", help="no closing line")
    return parser


def _at_least_one(word: str) -> int:
    if not word.isdecimal() or int(word) < 1:
        raise ArgumentTypeError(f"{word!r} is not a number of processes")
    return int(word)


def main(argv: Sequence[str]) -> int:
    options = parser().parse_args(argv)
    form = options.output_format or os.environ.get("ZEROGRAD_OUTPUT_FORMAT") or "full"
    if form not in FORMATS:
        raise unknown("output format", form, list(FORMATS), slug="unknown-option")
    config = _settled(options)
    settings = _settings(options, config)
    if options.fix or options.diff:
        from zerograd.cli.fixing import Fixing  # for those who ask

        fixing = Fixing(options, settings, lambda finding: _is_shown(finding, config))
        if STDIN in options.paths:
            return fixing.standard_input(options)
    else:
        fixing = None
    findings, files, unread = _check(options, config, settings)
    named = set(options.paths) & set(unread)
    shown = [finding for finding in findings if _is_shown(finding, config)]
    hidden = len(findings) - len(shown)
    if fixing is not None:
        shown = fixing.files(shown)
        if options.diff:
            return fixing.status
    if options.output_file:
        try:
            with open(options.output_file, "w", encoding="utf-8") as file:
                file.write(_render(shown, form, options, colour=False))
        except OSError as error:
            raise UsageError(
                f"{options.output_file}: cannot be written: {error.strerror}", slug="output-file"
            ) from None
    else:
        sys.stdout.write(_render(shown, form, options, colour=wants_colour(options.color, sys.stdout)))
        sys.stdout.flush()
    if form != "json" and not options.quiet:
        told = fixing.told() if fixing is not None else _fixable(shown, unsafe=options.unsafe_fixes)
        print(footer(shown, hidden, files, len(unread)) + told, file=sys.stderr)
    if named:  # a file below a folder may be anything; one that was asked for must be read
        return 2
    if fixing is not None and fixing.fixed and options.exit_non_zero_on_fix:
        return 1
    return 1 if any(finding.fails for finding in shown) and not options.exit_zero else 0


def _settled(options: Namespace) -> Config:
    """The command line over the config file over the defaults."""
    config = Config() if options.isolated else load_config(options.config, os.getcwd())
    given = {
        "select": tuple(options.select.split(",")) if options.select else None,
        "ignore": tuple(options.ignore.split(",")) if options.ignore else None,
        "possible": options.possible,
        "notes": options.notes,
    }
    return config._replace(**{key: value for key, value in given.items() if value is not None})


def _settings(options: Namespace, config: Config) -> Settings:
    cache = None if options.no_cache else CACHE
    return Settings(config.codes(), cache=cache, version=__version__, jobs=options.jobs)


def _check(options: Namespace, config: Config, settings: Settings) -> tuple[list[Finding], int, list[str]]:
    """The findings of all files; how many were read; which could not be."""
    targets = [
        Target(path, options.stdin_filename if path == STDIN else path)
        for path in python_files(options.paths, exclude=config.exclude)
    ]
    with Bar(sys.stderr, label="Reading") as bar:
        outcomes = sweep(targets, settings, advance=bar)
    unread: list[str] = []
    for target, outcome in zip(targets, outcomes, strict=True):
        if outcome.trouble:
            print(f"zerograd: {outcome.trouble}", file=sys.stderr)
            unread.append(target.path)
        for remark in outcome.remarks:
            print(f"zerograd: {remark}", file=sys.stderr)
    findings = once(finding for outcome in outcomes for finding in outcome.findings)
    return findings, len(targets) - len(unread), unread


def _fixable(shown: list[Finding], *, unsafe: bool) -> str:
    if not any(finding.fix for finding in shown):
        return ""
    from zerograd.report.fixes import fixable

    return fixable(shown, unsafe=unsafe)


def _is_shown(finding: Finding, config: Config) -> bool:
    if finding.certainty is Certainty.POSSIBLE and not config.possible:
        return False
    return finding.severity is not Severity.NOTE or config.notes


def _render(findings: list[Finding], form: str, options: Namespace, *, colour: bool) -> str:
    if form == "json":
        from zerograd.report.json import as_list  # json costs 3 ms

        return as_list(findings) + "\n"
    paint = Paint(on=colour)
    if form == "concise":
        return "".join(concise(finding, paint) + "\n" for finding in findings)

    def source(document: str) -> list[str] | None:
        from zerograd.source.notebooks.layout import read_document  # json costs 3 ms

        return None if document.startswith(options.stdin_filename) else read_document(document).splitlines()

    return "".join(full(finding, source, paint) + "\n\n" for finding in findings)
