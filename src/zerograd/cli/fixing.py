"""zerograd check --fix and --diff: mend the files whose shown findings have a fix, or show what would change."""

import sys
from argparse import Namespace
from collections.abc import Callable

from zerograd.core.findings import Finding
from zerograd.core.tally import count
from zerograd.errors import SourceError, UsageError
from zerograd.report.colour import Paint
from zerograd.report.fixes import diff
from zerograd.report.text import concise
from zerograd.source.files.discover import NOTEBOOK, STDIN, read_text
from zerograd.source.fixes.files import File
from zerograd.source.fixes.mending import Mended, is_fixable, mend
from zerograd.source.sweep import Reader, Settings

Chosen = Callable[[list[Finding], str, str], list[Finding]]  # of the findings in a path's text, those that are shown


class Fixing:
    """Fixes what is shown. `fixed` counts the findings that are gone, or would be."""

    def __init__(self, options: Namespace, settings: Settings, chosen: Chosen) -> None:
        self._unsafe = bool(options.unsafe_fixes)
        self._only_show = bool(options.diff)
        self._paint = Paint.of(options.color, sys.stdout)
        self._reader = Reader(settings._replace(cache=None))
        self._chosen = chosen
        self._left: list[Finding] = []
        self.fixed = 0

    @property
    def status(self) -> int:
        """Of --diff: 1 if anything would change."""
        return 1 if self.fixed else 0

    def held_back(self) -> str:
        """What --diff does not show of the findings that are left, in words."""
        unsafe = sum(is_fixable(finding, unsafe=True) for finding in self._left) if not self._unsafe else 0
        without = sum(finding.fix is None for finding in self._left)
        told = []
        if unsafe:
            changes = "it changes" if unsafe == 1 else "they change"
            told.append(f"{count(unsafe, 'fix', 'fixes')} not shown: {changes} what is trained (--unsafe-fixes)")
        if without:
            told.append(f"{count(without, 'finding has', 'findings have')} no fix")
        return "; ".join(told)

    def files(self, shown: list[Finding]) -> list[Finding]:
        """What is still shown once the files are written."""
        paths = {finding.site.path for finding in shown if is_fixable(finding, unsafe=self._unsafe)}
        left = [finding for finding in shown if finding.site.path not in paths]
        for path in sorted(paths):
            try:
                file = File(path)
                mended = self._mend(file.text, path)
                if mended.text != file.text:
                    self._write(file, mended.text)
                    self.fixed += len(mended.fixed)
                left += mended.left
            except SourceError as error:
                print(f"zerograd: {error.what}", file=sys.stderr)
                left += [finding for finding in shown if finding.site.path == path]
        self._left = sorted(left, key=lambda finding: (finding.site, finding.code))
        return self._left

    def standard_input(self, options: Namespace) -> int:
        """The mended text to standard output, whether it changed or not; what is left to standard error."""
        if options.paths != [STDIN]:
            raise UsageError(
                "standard input cannot be fixed together with files", cure="Check it alone.", slug="cannot-fix"
            )
        text, name = read_text(STDIN), str(options.stdin_filename)
        mended = self._mend(text, name)
        self.fixed = len(mended.fixed)
        if self._only_show:
            self._show(name, text, mended.text)
            return self.status
        sys.stdout.write(mended.text)
        for finding in mended.left:
            print(concise(finding, Paint(on=False)), file=sys.stderr)
        fails = any(finding.fails for finding in mended.left) and not options.exit_zero
        return 1 if fails or (self.fixed and options.exit_non_zero_on_fix) else 0

    def _mend(self, text: str, path: str) -> Mended:
        def look(other: str) -> list[Finding]:
            return self._chosen(list(self._reader.judge(other, path)[0]), path, other)

        return mend(text, path, look, unsafe=self._unsafe)

    def _write(self, file: File, text: str) -> None:
        if self._only_show:
            self._show(file.path, file.text, text)
        else:
            file.write(text)

    def _show(self, path: str, old: str, new: str) -> None:
        if not path.endswith(NOTEBOOK):
            sys.stdout.writelines(diff(path, old, new, self._paint))
            return
        from zerograd.source.notebooks.layout import read_cells

        for before, after in zip(read_cells(old, path), read_cells(new, path), strict=True):
            name = f"{path}:cell {before.number}"
            sys.stdout.writelines(diff(name, before.source, after.source, self._paint))
