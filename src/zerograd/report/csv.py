"""Every step of a run as a row of a table."""

import csv
import io

from zerograd.report.walk import Process

_NUMBERS = ("loss", "norm", "clipped", "scale", "items", "backward", "step", "rest")
COLUMNS = (
    *("process", "optimizer", "number", "at", "path", "line", "content", "skipped", "micro_batches", "stale_share"),
    *(f"seconds_in_{name}" if name in ("backward", "step", "rest") else name for name in _NUMBERS),
)


def steps_csv(processes: list[Process]) -> str:
    """Times in seconds since the trace began. What is not known is empty."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for process in processes:
        for moment in process.walk():
            step, line = moment.step, moment.line
            if step is None:
                continue
            site = line.event.site
            at = "" if line.at is None else line.at / 1e6
            place = (site.path, site.line) if site else ("", "")
            told = (step.content.value, int(step.skipped), step.micro_batches, f"{step.stale_share:.4g}")
            numbers = [step.numbers.get(name, "") for name in _NUMBERS]
            table.writerow(
                [_plain(process.name), _plain(moment.lane.slot), step.number, at, *map(_plain, place), *told, *numbers]
            )
    return out.getvalue()


def _plain(value: object) -> object:
    """Spreadsheets run what begins like a formula: a name never does."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
