"""The way that led to one finding, step by step: of a run, with what lay in the gradients; of source, line by line."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from zerograd.core.events import Kind, Site
from zerograd.core.findings import Finding
from zerograd.report.phrasing import in_their_words, phrased
from zerograd.report.printable import printable
from zerograd.report.quoting import line_of
from zerograd.report.walk import Moment, Process
from zerograd.rules import REGISTRY

_BEFORE = 12  # events that are told before the one that was judged
_LONGEST = 60  # characters of a line
_WORDS = {"new": "nothing yet", "lost": "lost, cleared unused"}


class Hop(NamedTuple):
    site: Site
    did: str  # the line as it stands in the file, or the call
    told: str  # what it did, or what lay there before and after


class Way(NamedTuple):
    finding: Finding
    hops: tuple[Hop, ...]
    when: str  # "at step 2 of optimizer", of a run
    left_out: bool  # more happened before the first hop


def ways_of(process: Process) -> Iterator[Way]:
    """One for each finding of a traced run: the events of its optimizer up to the first time."""
    firsts = {found.events[0]: found for found in process.survey.found if found.events}
    seen: dict[str, deque[Hop]] = {}
    for moment in process.walk():
        slot = moment.lane.slot
        hops = seen.setdefault(slot, deque(maxlen=_BEFORE))
        left_out = len(hops) == _BEFORE
        hops.append(_hop(moment, process))
        found = firsts.get(moment.number)
        if found is not None:
            finding = phrased(found.finding, moment.lane, lambda site: line_of(site, process.trace.header))
            when = f"at step {moment.lane.steps + (moment.step is None):,} of {printable(moment.lane.title)}"
            yield Way(finding, tuple(hops), when, left_out)


def _hop(moment: Moment, process: Process) -> Hop:
    event = moment.line.event
    site = event.site or Site("", 0)
    call = in_their_words(event.what, moment.lane) or event.kind.value
    line = line_of(site, process.trace.header).strip()
    before, after = (_WORDS.get(word, word) for word in (moment.before, moment.lane.held))
    told = f"{before} -> {after}" if before != after else f"{after}, as it was"
    if event.kind is Kind.CONSUME:
        told = f"uses it: {told}"
    return Hop(site, printable(line or call, longest=_LONGEST), told)


def way_of(finding: Finding, source: Callable[[str], list[str] | None]) -> Way:
    """Of a finding in source: the lines that took part, in their order, and its own."""
    parts = [*((one.site, one.message) for one in finding.related), (finding.site, "is where it goes wrong")]
    hops = (Hop(site, _line(site, source(site.document)), told) for site, told in parts)
    return Way(finding, tuple(hops), "", left_out=False)


def _line(site: Site, lines: list[str] | None) -> str:
    known = lines is not None and 0 < site.line <= len(lines)
    return printable(lines[site.line - 1].strip(), longest=_LONGEST) if lines is not None and known else ""


def as_text(way: Way) -> str:
    finding = way.finding
    rule = REGISTRY[finding.code]
    doubt = " (possible)" if finding.certainty == "possible" else ""
    lines = [f"{printable(finding.site.document)}:{finding.site.line}: {finding.code} {finding.name}{doubt} {way.when}"]
    lines += [f"  {printable(finding.message, longest=900)}", ""]
    places = [printable(f"{hop.site.document}:{hop.site.line}" if hop.site.line else "") for hop in way.hops]
    wide, long = max(map(len, places)), max(len(hop.did) for hop in way.hops)
    if way.left_out:
        lines.append("  ...")
    for number, (place, hop) in enumerate(zip(places, way.hops, strict=True), start=1):
        lines.append(f"  {number:>2}  {place:<{wide}}  {hop.did:<{long}}  {printable(hop.told)}")
    why = rule.explanation.strip().partition("\n\n")[0].replace("\n", " ")
    lines += ["", f"  why: {why}"]
    if finding.fix:
        lines.append(f"  fix: {printable(finding.fix.message)} (zerograd check --diff --unsafe-fixes shows it)")
    elif finding.cure:
        lines.append(f"  fix: {printable(finding.cure, longest=900)}")
    return "\n".join(line.rstrip() for line in [*lines, f"  more: zerograd rule {finding.code}"]) + "\n"
