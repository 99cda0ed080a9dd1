"""A story as Markdown: for GitHub's step summary, a pull request, a chat."""

import re
from collections.abc import Iterator

from zerograd.report.printable import printable
from zerograd.report.quoting import excerpts
from zerograd.report.story import Story, Told
from zerograd.report.verdict import closing, verdict

_UNSURE = ":grey_question:"
_SIGNS = {
    "good": ":white_check_mark:",
    "bad": ":x:",
    "part": ":warning:",
    "note": ":warning:",
    "possible": _UNSURE,
    "none": _UNSURE,
}


def markdown(story: Story) -> str:
    said = verdict(story)
    return (
        "\n".join(
            [
                "## zerograd",
                "",
                f"{_SIGNS[said.tone]} **{_text(said.sentence)}** {_text(said.also)}".rstrip(),
                "",
                *([f"**Fix:** {_text(said.edit)}", ""] if said.edit and said.tone != "bad" else []),
                *_lanes(story),
                *_findings(story),
            ]
        )
        + "\n"
    )


def _lanes(story: Story) -> Iterator[str]:
    yield "| optimizer | steps | backwards | skipped | never used | old gradients used |"
    yield "|---|--:|--:|--:|--:|--:|"
    for lane in story.lanes:
        name = lane.title if len(story.processes) == 1 else f"{story.processes[lane.rank].name}: {lane.title}"
        stale = sum(count for content, count in lane.consumed.items() if content.value in ("mixed", "spent"))
        yield f"| {_text(name)} | {lane.steps:,} | {lane.deposits:,} | {lane.skips:,} | {lane.unused:,} | {stale:,} |"
    for one in story.differences:
        name = story.lanes[one.lanes[0]].title
        yield f"\nRanks differ in {one.steps:,} steps of {_text(name)}, first in step {one.first:,}."


def _findings(story: Story) -> Iterator[str]:
    for told in story.told:
        finding = told.finding
        if not finding.fails:
            continue
        times = sum(told.times.values())
        place = f"{printable(finding.site.path)}:{finding.site.line}"
        yield ""
        yield f"### {_text(finding.code)} {_text(finding.name)}: `{place.replace('`', '')}`"
        yield ""
        yield f"{_text(finding.message)}. Seen {times:,} time{'s' * (times != 1)}."
        yield from _source(story, told)
        if finding.cure:
            yield ""
            yield f"**Fix:** {_text(finding.cure)}"
    if any(not told.finding.fails for told in story.told):
        yield f"\nIn all: {closing(story)}."


def _source(story: Story, told: Told) -> Iterator[str]:
    for one in excerpts(told.finding, story.processes[min(told.times)].trace.header):
        fence = "`" * max(3, *(len(run) + 1 for _, text, _ in one.lines for run in re.findall("`+", text)), 3)
        yield ""
        yield f"{fence}python"
        for number, text, role in one.lines:
            mark = ">" if number == told.finding.site.line and one.path == told.finding.site.path else " "
            part = f"    # <- {printable(role)}" if role else ""
            yield f"{mark} {number or '...':>4}  {printable(text)}{part}".rstrip()
        yield fence


def _text(text: str) -> str:
    """Nothing of it is markup."""
    return re.sub(r"([\\`*_{}\[\]<>|#~])", r"\\\1", printable(text, longest=900))
