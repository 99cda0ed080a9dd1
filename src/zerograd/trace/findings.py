"""A finding as a line of a trace, and back. The live run looked at values: what it proved, a replay cannot."""

from collections.abc import Mapping, Sequence
from typing import Any

from zerograd.core.events import Site
from zerograd.core.findings import Certainty, Finding, Related, Severity


def to_line(finding: Finding) -> dict[str, object]:
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "site": list(finding.site),
        "certainty": finding.certainty.value,
        "severity": finding.severity.value,
        "related": [[list(other.site), other.message] for other in finding.related],
        "cure": finding.cure,
    }


def from_line(line: Mapping[str, Any]) -> Finding:
    """The finding, seen no time yet: its events are told by other lines."""
    return Finding(
        str(line["code"]),
        str(line["name"]),
        str(line["message"]),
        place(line["site"]),
        Certainty(line["certainty"]),
        Severity(line["severity"]),
        tuple(Related(place(site), str(message)) for site, message in line.get("related", ())),
        str(line.get("cure", "")),
        times=0,
    )


def place(parts: Sequence[Any]) -> Site:
    """A site as it was written. TypeError: it is none."""
    site = Site(*parts)
    if not isinstance(site.path, str) or not all(isinstance(number, int) for number in site[1:]):
        raise TypeError(f"{parts} is no place")
    return site
