"""The results of the lab on a terminal."""

from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from zerograd.lab.experiment import Result
from zerograd.lab.meeting import Meeting

_COLOURS = {"holds": "green", "holds_if": "yellow", "does_not_hold": "red"}


def tables_of(results: list[Result]) -> Group:
    """What holds; then what the tools make of every loop that is wrong."""
    if not any(result.meetings for result in results):
        return Group(_verdicts(results))
    return Group(_verdicts(results), Text(), _tools(results))


def _verdicts(results: list[Result]) -> Table:
    table = Table(show_lines=True, title="What holds", title_justify="left")
    for name, ratio in (("claim", 3), ("verdict", 5), ("measured here", 4)):
        table.add_column(name, ratio=ratio)
    for result in results:
        ruling = result.verdict.ruling
        table.add_row(
            f"[bold]{result.claim.id}[/] {escape(result.claim.statement)}",
            f"[bold {_COLOURS[ruling.value]}]{ruling.words}[/]{escape(result.verdict.told)}",
            escape(result.claim.shown(result.measured)),
        )
    return table


def _tools(results: list[Result]) -> Table:
    table = Table(show_lines=True, title="Loops that are wrong, and the tools", title_justify="left")
    for name, ratio in (("", 1), ("loop", 4), ("check", 3), ("audit", 3), ("how Step cannot have it", 6)):
        table.add_column(name, ratio=ratio, min_width=3)
    for result in results:
        for meeting in result.meetings:
            ends = f"\n[dim]ends with {escape(meeting.ends.partition(':')[0])}[/]" if meeting.ends else ""
            table.add_row(result.claim.id, escape(meeting.loop) + ends, *_cells(meeting))
    return table


def _cells(meeting: Meeting) -> tuple[str, str, str]:
    step = escape(meeting.step)
    return (
        _codes(meeting.check),
        _codes(meeting.audit),
        step if meeting.step_is_right else f"[red]missing[/]: {step}",
    )


def _codes(told: tuple[str, ...]) -> str:
    return f"[cyan]{', '.join(told)}[/]" if told else "[red]missing[/]"
