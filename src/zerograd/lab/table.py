"""The results of the lab on a terminal."""

from rich.table import Table

from zerograd.lab.experiment import Meeting, Result

_COLOURS = {"holds": "green", "holds_if": "yellow", "does_not_hold": "red"}


def table_of(results: list[Result]) -> Table:
    table = Table("claim", "verdict", "measured here", show_lines=True)
    for result in results:
        ruling = result.verdict.ruling.value
        lines = [result.claim.shown(result.measured)]
        if result.verdict.condition:
            lines.append(f"[dim]{result.verdict.condition}[/]")
        lines += [f"[cyan]{_told(meeting)}[/]" for meeting in result.meetings]
        table.add_row(
            f"[bold]{result.claim.id}[/] {result.claim.statement}",
            f"[{_COLOURS[ruling]}]{ruling.replace('_', ' ')}[/]",
            "\n".join(lines),
        )
    return table


def _told(meeting: Meeting) -> str:
    check = ", ".join(meeting.check) or "missing"
    audit = ", ".join(meeting.audit) or "missing"
    step = "cannot be written with Step" if meeting.step_is_clean else "missing in Step"
    return f"{meeting.loop}: check {check}, audit {audit}, {step}"
