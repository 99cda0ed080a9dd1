"""What is said of an optimizer, in the names that the program itself has for it and for its lines."""

import re
from collections.abc import Callable

from zerograd.core.events import Site
from zerograd.core.findings import Finding
from zerograd.report.lane import Lane

_BACKWARD = re.compile(r"(?<![\w.])backward\(\) on line (\d+)|^backward\(\)")  # there, or here
_LOSS = re.compile(r"([\w.]+)\.backward\(")


def phrased(finding: Finding, lane: Lane | None, line_of: Callable[[Site], str] = lambda _: "") -> Finding:
    """The finding with `opt_d.step()` where the run knew a class, `g_loss.backward()` where it knew a line.

    `line_of`: the text of a line, if it is known.
    """
    path = finding.site.path

    def spelled(found: re.Match[str]) -> str:
        loss = _LOSS.findall(line_of(Site(path, int(found[1])) if found[1] else finding.site))
        return f"{loss[0]}.{found[0]}" if len(loss) == 1 else found[0]

    def told(text: str) -> str:
        return in_their_words(text, lane) if lane is not None else text

    related = tuple(other._replace(message=told(other.message)) for other in finding.related)
    message, cure = (told(_BACKWARD.sub(spelled, text)) for text in (finding.message, finding.cure))
    return finding._replace(message=message, cure=cure, related=related)


def in_their_words(text: str, lane: Lane) -> str:
    if not lane.called or lane.family not in text:
        return text
    return re.sub(rf"\b{re.escape(lane.family)}(?=\.step\(\)|\.zero_grad\(\)| is never)", lambda _: lane.called, text)


def placed(finding: Finding) -> str:
    """The cause in one sentence, with the place where it is found."""
    said = finding.message.partition(";")[0]
    site = finding.site
    place = f"cell {site.cell}, line {site.line}" if site.cell else f"{site.path}:{site.line}"
    if not site.line:
        return said
    call = re.match(r"\S+\(\)(?= )", said)
    return f"{call[0]} at {place}{said[call.end() :]}" if call else f"{said} ({place})"
