"""docs/lab: a table of all claims and a page for each, written from the results of a run."""

import json
from pathlib import Path

from zerograd.lab.experiment import Result, document
from zerograd.lab.figure import as_svg, new_figure, styled
from zerograd.lab.meeting import Meeting
from zerograd.lab.page import brief


def write_docs(results: list[Result], folder: Path) -> None:
    """README.md, C01.md ..., figures/C01.svg ..., and the lab.json that they all come from."""
    figures = folder / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    about = document(results)
    (folder / "lab.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(index(results, f"{about['date']}, {about['machine']}"), encoding="utf-8")
    with styled():
        for result in results:
            figure = new_figure()
            result.claim.draw(figure, result.measured)
            (figures / f"{result.claim.id}.svg").write_text(as_svg(figure, alone=True), encoding="utf-8")
            (folder / f"{result.claim.id}.md").write_text(claim_page(result), encoding="utf-8")


def index(results: list[Result], when: str) -> str:
    seconds = sum(result.seconds for result in results)
    rows = [
        f"| [{result.claim.id}]({result.claim.id}.md) | {result.claim.statement} | {result.verdict.ruling.words} "
        f"| {result.claim.shown(result.measured)} |"
        for result in results
    ]
    return "\n".join(
        [
            "# What is true about clearing gradients",
            "",
            "Published advice, run and measured by `zerograd lab`. Every verdict is computed from the numbers of "
            "the run.",
            f"Written by `make lab` ({when}; {seconds:.0f} s of CPU). Do not edit: run it again.",
            "",
            "| claim | says | verdict | measured |",
            "|---|---|---|---|",
            *rows,
            "",
            "## Loops that are wrong, and the tools",
            "",
            "| claim | loop | check | audit | how Step cannot have it |",
            "|---|---|---|---|---|",
            *(
                f"| [{result.claim.id}]({result.claim.id}.md) | {meeting.loop} | {_codes(meeting.check)} "
                f"| {_codes(meeting.audit)} | {_step(meeting)} |"
                for result in results
                for meeting in result.meetings
            ),
            "",
        ]
    )


def claim_page(result: Result) -> str:
    claim, verdict = result.claim, result.verdict
    lines = [
        f"# {claim.id}: {claim.statement}",
        "",
        f"**{verdict.ruling.words}**{verdict.told}",
        "",
        f"Measured: {claim.shown(result.measured)}",
        "",
        f"![{claim.see}](figures/{claim.id}.svg)",
        "",
        claim.see,
        "",
        "## What to do",
        "",
        claim.advice,
        "",
    ]
    for meeting in result.meetings:
        lines += [
            f"## Wrong: {meeting.loop}",
            "",
            *([f"It ends with `{meeting.ends}`", ""] if meeting.ends else []),
            f"- `check`: {_codes(meeting.check)}",
            f"- `audit`: {_codes(meeting.audit)}",
            f"- `Step`: {_step(meeting)}",
            "",
            f"```py\n{meeting.text}```",
            "",
            "The same through Step:",
            "",
            f"```py\n{meeting.step_text}```",
            "",
        ]
    lines += ["## All that was measured", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {brief(value)} |" for name, value in result.measured.items()]
    return "\n".join([*lines, ""])


def _codes(told: tuple[str, ...]) -> str:
    return ", ".join(told) or "**missing**"


def _step(meeting: Meeting) -> str:
    return meeting.step if meeting.step_is_right else f"**missing**: {meeting.step}"
