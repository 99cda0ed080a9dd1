"""lab.html: every claim on one page that needs nothing else, in light and in dark, also on a telephone."""

from pathlib import Path

from zerograd.lab.experiment import Result, document
from zerograd.lab.figure import as_svg, new_figure, save, styled
from zerograd.lab.meeting import Meeting
from zerograd.lab.shell import TURN, prose, safe, whole_page


def write_page(results: list[Result], folder: Path) -> None:
    """The page, and every figure as a file of its own beside it."""
    figures = folder / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    parts = []
    with styled():
        for result in results:
            figure = new_figure()
            result.claim.draw(figure, result.measured)
            save(figure, figures / result.claim.id)
            parts.append(_section(result, as_svg(figure, alone=False)))
    about = document(results)
    head = (
        f"<h1>What is true about clearing gradients</h1><p>{len(results)} published claims, run and measured. Every "
        f"verdict is computed from the numbers of this run.</p><p class=faint>{safe(about['date'])}, "
        f"{safe(about['machine'])}, zerograd {safe(about['zerograd'])} {TURN}</p>"
    )
    page = whole_page("zerograd lab", head + _contents(results) + "".join(parts))
    (folder / "lab.html").write_text(page, encoding="utf-8")


def _contents(results: list[Result]) -> str:
    rows = "".join(
        f"<tr><td><a href=#{result.claim.id}>{result.claim.id}</a></td><td>{prose(result.claim.statement)}</td>"
        f"<td>{_verdict(result)}</td></tr>"
        for result in results
    )
    return f"<table>{rows}</table><p></p>"


def _verdict(result: Result) -> str:
    ruling = result.verdict.ruling
    return f'<span class="verdict {ruling.value}">{ruling.words}</span>'


def _section(result: Result, svg: str) -> str:
    claim, verdict = result.claim, result.verdict
    return (
        f"<section id={claim.id}><div><h2>{claim.id} "
        f"{prose(claim.statement)}</h2><p>{_verdict(result)}{prose(verdict.told)}</p><p "
        f"class=measured>{prose(claim.shown(result.measured))}</p><p><b>What to do.</b> "
        f"{prose(claim.advice)}</p></div><figure>{svg}<figcaption>{prose(claim.see)}</figcaption></figure><div "
        f"class=wide>{_tools(result.meetings)}<details><summary>all that was "
        f"measured</summary>{_numbers(result.measured)}</details></div></section>"
    )


def _tools(meetings: tuple[Meeting, ...]) -> str:
    if not meetings:
        return ""
    rows = "".join(
        f"<tr><td data-name=loop>{safe(meeting.loop)}{_ends(meeting)}</td><td "
        f"data-name=check>{_codes(meeting.check)}</td>"
        f"<td data-name=audit>{_codes(meeting.audit)}</td><td data-name=Step>{_step(meeting)}</td></tr>"
        for meeting in meetings
    )
    texts = "".join(
        f"<details><summary>{safe(meeting.loop)}, and the same through Step</summary>"
        f"<div class=pair><pre>{safe(meeting.text)}</pre><pre>{safe(meeting.step_text)}</pre></div></details>"
        for meeting in meetings
    )
    head = "<thead><tr><th>wrong loop</th><th>check</th><th>audit</th><th>how Step cannot have it</th></tr></thead>"
    return f"<table class=tools>{head}{rows}</table>{texts}"


def _ends(meeting: Meeting) -> str:
    return f"<br><span class=faint>ends with {safe(meeting.ends.partition(':')[0])}</span>" if meeting.ends else ""


def _codes(told: tuple[str, ...]) -> str:
    return safe(", ".join(told)) if told else "<span class=missing>missing</span>"


def _step(meeting: Meeting) -> str:
    return safe(meeting.step) if meeting.step_is_right else f"<span class=missing>missing</span>: {safe(meeting.step)}"


def _numbers(measured: dict[str, object]) -> str:
    rows = "".join(f"<tr><td>{safe(name)}</td><td>{safe(brief(value))}</td></tr>" for name, value in measured.items())
    return f"<table>{rows}</table>"


def brief(value: object) -> str:
    """A number, an interval, or the beginning of a list, as one reads it."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict) and set(value) == {"mean", "low", "high", "runs"}:
        return f"{value['mean']:.4g} (95%: {value['low']:.4g} to {value['high']:.4g}; {value['runs']} runs)"
    if isinstance(value, dict):
        return "; ".join(f"{name}: {brief(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(brief(inner) for inner in value[:6]) + (f", ... ({len(value)})" if len(value) > 6 else "")
    return str(value)
