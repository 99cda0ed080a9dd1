"""A rule that fired, once, at a place: what every front end reports and every output shows."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from zerograd.core.events import Site


class Certainty(StrEnum):
    CERTAIN = "certain"  # no skipped event could excuse it: shown, and it fails the check
    POSSIBLE = "possible"  # a branch we cannot decide may excuse it: shown on request


class Severity(StrEnum):
    ERROR = "error"  # the update is not what the code says it is
    WARNING = "warning"  # it is, but hardly what the author wants
    NOTE = "note"  # it costs time or memory: counted, shown on request


class Safety(StrEnum):
    SAFE = "safe"  # the training stays bit for bit what it was
    UNSAFE = "unsafe"  # it changes what is trained: the point of it, and the user's to decide


class Edit(NamedTuple):
    """Text in place of what stands from one position up to another, which it does not include."""

    line: int
    column: int  # from 1, in bytes of UTF-8, as Site counts
    end_line: int
    end_column: int
    text: str
    cell: int = 0


class Fix(NamedTuple):
    """Edits that cure a finding; all of them or none, in the order of their places, none over another."""

    message: str  # what they do, as an order: "clear before backward()"
    edits: tuple[Edit, ...]
    safety: Safety = Safety.UNSAFE


class Related(NamedTuple):
    """Another place that took part, and the part it took."""

    site: Site
    message: str


class Finding(NamedTuple):
    code: str
    name: str
    message: str
    site: Site
    certainty: Certainty
    severity: Severity
    related: tuple[Related, ...] = ()
    cure: str = ""
    times: int = 1  # how often it happened, where that can be counted
    fix: Fix | None = None

    @property
    def fails(self) -> bool:
        """Whether it makes an exit status 1: certain, and more than a note."""
        return self.certainty is Certainty.CERTAIN and self.severity is not Severity.NOTE

    def __str__(self) -> str:
        return f"{self.site.document}:{self.site.line}:{self.site.column}: {self.code} {self.message}"


def once(findings: Iterable[Finding]) -> list[Finding]:
    """Each fault at a place once, by place: several ways lead to it, and the surest of them is told."""
    surest: dict[tuple[Site, str], Finding] = {}
    for finding in findings:
        key = (finding.site, finding.code)
        if key not in surest or (finding.certainty is Certainty.CERTAIN is not surest[key].certainty):
            surest[key] = finding
    return sorted(surest.values(), key=lambda finding: (finding.site, finding.code))
