"""`%load_ext zerograd`: the cells of a notebook are audited, and what one did wrong is told under it.

`%zerograd status` says what was audited so far; `%zerograd report [FILE]` writes the page about it.
"""

import html
import tempfile
from typing import Protocol

from zerograd.attach.listing import listing
from zerograd.attach.tracing import Trace
from zerograd.core.events import Site
from zerograd.core.findings import Finding
from zerograd.core.tally import is_shown
from zerograd.errors import ZerogradError
from zerograd.report.colour import Paint
from zerograd.report.text import full
from zerograd.report.walk import processes
from zerograd.report.writing import render, save
from zerograd.run.audit import Audit
from zerograd.run.sites import located


class _Events(Protocol):
    def register(self, event: str, function: object) -> None: ...
    def unregister(self, event: str, function: object) -> None: ...


class _Compiler(Protocol):
    def format_code_name(self, name: str) -> tuple[str, str] | None: ...


class _Magics(Protocol):
    magics: dict[str, dict[str, object]]


class Shell(Protocol):
    """What we need of IPython's InteractiveShell."""

    events: _Events
    compile: _Compiler
    magics_manager: _Magics

    def register_magic_function(self, func: object, magic_kind: str, magic_name: str) -> None: ...


class Notebook:
    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._folder = tempfile.TemporaryDirectory(prefix="zerograd-")  # for the report, if one is asked for
        self._trace = Trace(self._folder.name, {"findings": True, "mode": "lean"})
        # Shared: a cell may have an audit of its own.
        self._audit = Audit(on_finding="collect", shared=True, trace=self._trace)
        self._before: dict[tuple[str, Site], int] = {}

    def open(self) -> None:
        self._audit.start()
        self._shell.events.register("pre_run_cell", self._begin_cell)
        self._shell.events.register("post_run_cell", self._end_cell)
        self._shell.register_magic_function(self._asked, "line", "zerograd")
        print("zerograd: the cells below are audited; %zerograd status, %zerograd report")

    def close(self) -> None:
        self._shell.events.unregister("pre_run_cell", self._begin_cell)
        self._shell.events.unregister("post_run_cell", self._end_cell)
        self._shell.magics_manager.magics["line"].pop("zerograd", None)
        self._audit.stop()
        self._trace.close()
        self._folder.cleanup()
        print(f"zerograd: {self._audit.counts()}")

    def _asked(self, line: str) -> None:
        """`%zerograd ...`: a word, and the file of a report."""
        word, _, file = line.strip().partition(" ")
        if word in ("", "status"):
            for finding in self._audit.findings:
                if is_shown(finding, possible=False, notes=False):
                    print(f"{self._named(finding)} (x{finding.times})")
            print(f"zerograd: {self._audit.counts()}")
        elif word == "report":
            print(self._report(file.strip() or "zerograd.html"))
        else:
            print(f"zerograd: no %zerograd {word}: there are %zerograd status and %zerograd report [FILE]")

    def _report(self, file: str) -> str:
        if not self._trace.path:
            return "zerograd: no report: no torch.optim.Optimizer has stepped yet"
        try:
            save(file, render(processes([self._folder.name]), "html"))
        except ZerogradError as error:
            return f"zerograd: no report: {error}"
        return f"zerograd: report in {file}"

    def _begin_cell(self, *_: object) -> None:
        self._before = {(finding.code, finding.site): finding.times for finding in self._audit.findings}

    def _end_cell(self, *_: object) -> None:
        """A cell that is run again with its fault still in it is told so again, although the place is known."""
        for finding in self._audit.findings:
            again = finding.times > self._before.get((finding.code, finding.site), 0)
            if again and is_shown(finding, possible=False, notes=False):
                named = self._named(finding)
                _show(full(named, {named.site.path: listing(finding.site.path)}.get, Paint(on=False)))

    def _named(self, finding: Finding) -> Finding:
        """With the names that a reader of the notebook knows: In[3] for the file that the kernel made of the cell."""
        names = {site.path: self._cell(site.path) for site in (finding.site, *(one.site for one in finding.related))}
        message = finding.message
        for path, name in names.items():
            message = message.replace(path, name)
        return finding._replace(
            message=message,
            site=finding.site._replace(path=names[finding.site.path]),
            related=tuple(one._replace(site=one.site._replace(path=names[one.site.path])) for one in finding.related),
        )

    def _cell(self, path: str) -> str:
        known = self._shell.compile.format_code_name(located(path))
        return known[1] if known else path


def _show(text: str) -> None:
    from IPython.display import display  # 300 ms, and present wherever there is a Shell

    rich = (
        f'<pre style="border-left: 3px solid #d33; padding-left: 1em; font-family: monospace">{html.escape(text)}</pre>'
    )
    display({"text/plain": text, "text/html": rich}, raw=True)  # type: ignore[no-untyped-call]


_open: dict[int, Notebook] = {}  # by shell


def load_ipython_extension(shell: Shell) -> None:
    _open[id(shell)] = Notebook(shell)
    _open[id(shell)].open()


def unload_ipython_extension(shell: Shell) -> None:
    _open.pop(id(shell)).close()
