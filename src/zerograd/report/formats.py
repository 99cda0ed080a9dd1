"""Every output format by its name. A format is a function of findings; only the one that is asked for is imported."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zerograd.core.findings import Finding
    from zerograd.report.colour import Paint
    from zerograd.report.text import Source

HUMAN = ("full", "concise", "grouped")  # read at a terminal: coloured, with a closing line
_HOMES = {
    "full": "text:render_full",
    "concise": "text:render_concise",
    "grouped": "grouped:render",
    "json": "json:render",
    "json-lines": "json:render_lines",
    "github": "github:render",
    "gitlab": "gitlab:render",
    "junit": "junit:render",
    "lintrunner": "lintrunner:render",
    "sarif": "sarif:render",
}
FORMATS = tuple(_HOMES)


def render(form: str, findings: "Sequence[Finding]", source: "Source", paint: "Paint") -> str:
    if not findings and form in HUMAN:
        return ""
    module, _, name = _HOMES[form].partition(":")
    write: Callable[[Sequence[Finding], Source, Paint], str] = getattr(import_module(f"zerograd.report.{module}"), name)
    return write(findings, source, paint)
