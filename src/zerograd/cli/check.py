"""zerograd check: read Python files and report gradient bugs."""

import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from zerograd import __version__
from zerograd.cli.flags import CACHE, parser
from zerograd.core.findings import Finding, once
from zerograd.core.tally import count
from zerograd.errors import UsageError, missing, unknown
from zerograd.report.colour import Paint
from zerograd.report.documents import Documents
from zerograd.report.footer import Rest, footer
from zerograd.report.formats import FORMATS, HUMAN, render
from zerograd.report.progress import Bar
from zerograd.source.files.config import Config, load_config, project_root
from zerograd.source.files.discover import STDIN, python_files, read_text
from zerograd.source.files.exclusion import Exclusion
from zerograd.source.sweep import Settings, Target, sweep

if TYPE_CHECKING:
    from zerograd.cli.fixing import Fixing


def main(argv: Sequence[str]) -> int:
    options = parser().parse_args(argv)
    options.paths = list(_named(options.paths))
    config = _settled(options)
    if options.watch:
        return _watch(argv, options, config)
    if config.output_format not in FORMATS:
        raise unknown("output format", config.output_format, list(FORMATS), slug="unknown-option")
    cache = None if options.no_cache else os.path.join(project_root(os.getcwd()), CACHE)
    settings = Settings(config.codes(), cache, __version__, options.jobs, notes=config.notes)
    fixing = _fixing(options, config, settings)
    if fixing is not None and STDIN in options.paths:
        return fixing.standard_input(options)
    checked = _check(options, config, settings)
    shown = [finding for finding in checked.findings if config.shows(finding)]
    hidden = [finding for finding in checked.findings if not config.shows(finding)]
    rest = Rest(len(checked.read), unread=len(checked.unread))
    if options.add_ignore:
        return _add_ignores(shown)
    if options.write_baseline:
        return _write_baseline(shown, config, checked)
    if config.baseline:
        from zerograd.report.baseline import sort_out  # json and hashes: 5 ms

        shown, known, gone = sort_out(shown, config.baseline, checked.documents, read=checked.read)
        rest = rest._replace(known=known, gone=gone)
    if fixing is not None:
        shown = fixing.files(shown)
        rest = rest._replace(fixed=fixing.fixed)
        if options.diff:
            if (held := fixing.held_back()) and not options.quiet:
                print(held, file=sys.stderr)
            return fixing.status
        checked = checked._replace(documents=Documents())  # they have changed
    _write(shown, options, config, checked)
    if config.output_format in HUMAN and not options.quiet:
        print(footer([*shown, *hidden], rest, possible=config.possible, notes=config.notes), file=sys.stderr)
    if set(options.paths) & set(checked.unread):  # below a folder may be anything; what is named must be read
        return 2
    if rest.fixed and options.exit_non_zero_on_fix:
        return 1
    if any(finding.fails for finding in shown) and not options.exit_zero:
        return 1
    return 2 if checked.blind else 0  # nothing was found, and something that trains was not looked at


def _named(paths: Iterable[str]) -> Iterable[str]:
    """The paths; for @FILE, those that stand in it, one a line: how others hand over more than a command line holds."""
    for path in paths:
        if not path.startswith("@") or os.path.exists(path):
            yield path
            continue
        if not os.path.isfile(path[1:]):
            raise missing("file", path[1:], slug="unknown-path")
        yield from filter(None, map(str.strip, read_text(path[1:]).splitlines()))


def _settled(options: Namespace) -> Config:
    """The command line over the environment over the config file over the defaults."""
    config = Config() if options.isolated else load_config(options.config, os.getcwd())
    form = options.output_format or os.environ.get("ZEROGRAD_OUTPUT_FORMAT") or config.output_format or "full"
    if options.select is not None:  # what is asked for here is all that is asked for
        config = config._replace(extend_select=())
    if options.exclude is not None:
        config = config._replace(extend_exclude=())
    given: dict[str, Any] = {field: getattr(options, field, None) for field in Config._fields}
    given |= {field: tuple(value) for field, value in given.items() if isinstance(value, list)}
    baseline = options.baseline or (os.path.join(config.root, config.baseline) if config.baseline else "")
    given |= {"output_format": form, "baseline": baseline}
    return config._replace(**{field: value for field, value in given.items() if value is not None})


class Checked(NamedTuple):
    findings: list[Finding]
    read: list[str]  # files
    unread: list[str]
    documents: Documents
    blind: bool  # one that could not be read trains


def _check(options: Namespace, config: Config, settings: Settings) -> Checked:
    targets = list(_targets(options, config))
    with Bar(sys.stderr, label="Reading", lines=config.output_format in HUMAN and not options.quiet) as bar:
        outcomes = sweep(targets, settings, advance=bar)
    unread: list[str] = []
    for target, outcome in zip(targets, outcomes, strict=True):
        if outcome.trouble:
            print(f"zerograd: {outcome.trouble}", file=sys.stderr)
            unread.append(target.path)
        for remark in outcome.remarks:
            print(f"zerograd: {remark}", file=sys.stderr)
    findings = config.without_ignored(once(finding for outcome in outcomes for finding in outcome.findings))
    given = {target.shown: target.text for target in targets if target.text is not None}
    read = [target.shown for target in targets if target.path not in unread]
    blind = any(outcome.hides_training for outcome in outcomes)
    return Checked(findings, read, unread, Documents(given), blind)


def _watch(argv: Sequence[str], options: Namespace, config: Config) -> int:
    writing = ("fix", "add_ignore", "write_baseline")
    if STDIN in options.paths or any(getattr(options, name) for name in writing):
        cure = "It reads files again and again, and changes none."
        raise UsageError(
            "--watch goes with neither standard input, --fix, --add-ignore nor --write-baseline",
            cure=cure,
            slug="unknown-option",
        )
    from zerograd.cli.watching import watch

    configs = [os.path.join(config.root, name) for name in ("zerograd.toml", "pyproject.toml")]
    return watch(argv, lambda: [*configs, *(target.path for target in _targets(options, config))])


def _targets(options: Namespace, config: Config) -> Iterable[Target]:
    patterns = (*config.exclude, *config.extend_exclude)
    exclusion = Exclusion(patterns, root=config.root, git=config.respect_gitignore)
    for path in python_files(options.paths, exclusion, force=config.force_exclude):
        if path != STDIN:
            yield Target(path, path)
        elif not config.force_exclude or not exclusion.drops_named(options.stdin_filename):
            yield Target(path, options.stdin_filename, read_text(path))


def _fixing(options: Namespace, config: Config, settings: Settings) -> "Fixing | None":
    if not (options.fix or options.diff):
        return None
    from zerograd.cli.fixing import Fixing  # for those who ask

    def chosen(findings: list[Finding], path: str, text: str) -> list[Finding]:
        """What would be shown of this text: nothing else is fixed."""
        shown = [finding for finding in config.without_ignored(findings) if config.shows(finding)]
        if config.baseline:
            from zerograd.report.baseline import sort_out

            shown, _, _ = sort_out(shown, config.baseline, Documents({path: text}))
        return shown

    return Fixing(options, settings, chosen)


def _write(findings: list[Finding], options: Namespace, config: Config, checked: Checked) -> None:
    """To the file that was asked for, or to standard output, which alone is coloured."""
    paint = Paint(on=False) if options.output_file else Paint.of(options.color, sys.stdout)
    if options.statistics:
        from zerograd.report.statistics import tally

        text = tally(config.output_format, findings, paint)
    else:
        text = render(config.output_format, findings, checked.documents, paint)
    if not options.output_file:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        with open(options.output_file, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{options.output_file}: cannot be written: {error.strerror}", slug="output-file") from None


def _add_ignores(findings: list[Finding]) -> int:
    from zerograd.source.fixes.ignoring import add_ignores

    added = add_ignores(findings)
    for line in added.refused:
        print(f"zerograd: {line}", file=sys.stderr)
    print(f"ignored {count(added.findings, 'finding')} in {count(added.files, 'file')}", file=sys.stderr)
    return 2 if added.refused else 0


def _write_baseline(findings: list[Finding], config: Config, checked: Checked) -> int:
    from zerograd.report.baseline import write

    if not config.baseline:
        cure = "Say which: --baseline zerograd-baseline.json --write-baseline"
        raise UsageError("no baseline to write", cure=cure, slug="baseline")
    held = write(findings, config.baseline, checked.documents, read=checked.read)
    kept = f", {held - len(findings)} of other files kept" if held > len(findings) else ""
    print(f"wrote {count(len(findings), 'finding')} into {config.baseline}{kept}", file=sys.stderr)
    return 0
