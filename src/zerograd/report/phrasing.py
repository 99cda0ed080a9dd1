"""What is said of an optimizer, in the names that the program itself has for it and for its lines."""

import re
from collections.abc import Callable

from zerograd.core.events import Site
from zerograd.core.findings import Finding
from zerograd.report.lane import Lane

_ITSELF = re.compile(r"(?<!an )(?<!every )\b(?:the )?optimizer\b(?! that)")  # in a cure
_OWN = "the optimizer's own objective"
_FEEDS = ("the gradient is deposited here", _OWN)  # the part that its own backward takes
_BACKWARD = re.compile(r"(?<![\w.])backward\(\) on line (\d+)|^backward\(\)")  # there, or here
_LOSS = re.compile(r"([\w.]+)\.backward\(")
_PARTS = {_OWN: "{}'s own objective", "left here": "leaves gradients in {} too"}


def phrased(finding: Finding, lane: Lane | None, line_of: Callable[[Site], str] = lambda _: "") -> Finding:
    """The finding with `opt_d.step()` where the run knew a class, `g_loss.backward()` where it knew a line.

    `line_of`: the text of a line, if it is known.
    """
    cure, path = finding.cure, finding.site.path

    def spelled(found: re.Match[str]) -> str:
        loss = _LOSS.findall(line_of(Site(path, int(found[1])) if found[1] else finding.site))
        return f"{loss[0]}.{found[0]}" if len(loss) == 1 else found[0]

    fed = {other.site.line for other in finding.related if other.message in _FEEDS}
    if len(fed) == 1:
        cure = cure.replace("backward()", f"backward() on line {fed.pop()}", 1)
    finding = finding._replace(message=_BACKWARD.sub(spelled, finding.message), cure=_BACKWARD.sub(spelled, cure))
    if lane is None or not lane.called:
        return finding
    parts = [_PARTS.get(other.message, other.message).replace("{}", lane.called) for other in finding.related]
    return finding._replace(
        message=in_their_words(finding.message, lane),
        cure=_ITSELF.sub(lambda _: lane.called, finding.cure),
        related=tuple(other._replace(message=part) for other, part in zip(finding.related, parts, strict=True)),
    )


def in_their_words(text: str, lane: Lane) -> str:
    if not lane.called or lane.family not in text:
        return text
    return re.sub(rf"\b{re.escape(lane.family)}(?=\.step\(\)| never is)", lambda _: lane.called, text)


def placed(finding: Finding) -> str:
    """The cause in one sentence, with the place where it is found."""
    said = finding.message.partition(";")[0]
    site = finding.site
    place = f"cell {site.cell}, line {site.line}" if site.cell else f"{site.path}:{site.line}"
    if not site.line:
        return said
    call = re.match(r"\S+\(\)(?= )", said)
    return f"{call[0]} at {place}{said[call.end() :]}" if call else f"{said} ({place})"
