"""lab.html: every claim on one page that needs nothing else, in light and in dark, also on a telephone."""

import html
from pathlib import Path

from zerograd.lab.experiment import Result, document
from zerograd.lab.figure import DARK_CSS, LIGHT_CSS, as_svg, new_figure, save, styled
from zerograd.lab.meeting import Meeting

_CSS = f"""
:root{{{LIGHT_CSS}--wash:#f4f6f8;--yes:#1a7f37;--if:#8a5a00;--no:#b42318}}
@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{DARK_CSS}--wash:#1d232a;--yes:#56d364;--if:#e3b341;--no:#ff8a75}}}}
:root[data-theme=dark]{{{DARK_CSS}--wash:#1d232a;--yes:#56d364;--if:#e3b341;--no:#ff8a75}}
*{{box-sizing:border-box}}
body{{margin:0 auto;max-width:72rem;padding:1rem;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}}
h1{{font-size:1.6rem;line-height:1.2;margin:.5rem 0}} h2{{font-size:1.15rem;line-height:1.35;margin:0 0 .5rem}}
a{{color:var(--good)}} code,pre{{font:.85rem/1.45 ui-monospace,monospace}}
p{{margin:.4rem 0}} .faint,figcaption{{color:var(--faint);font-size:.9rem}}
button{{font:inherit;color:inherit;background:var(--wash);border:1px solid var(--grid);border-radius:.4rem;padding:.2rem .7rem}}
table{{border-collapse:collapse;width:100%;font-size:.92rem}} td,th{{text-align:left;vertical-align:top;padding:.35rem .5rem;border-bottom:1px solid var(--grid)}}
section{{border-top:2px solid var(--grid);padding:1.3rem 0;display:grid;gap:0 2rem;grid-template-columns:minmax(0,1fr) minmax(0,32rem)}}
section>.wide{{grid-column:1/-1;min-width:0}}
figure{{margin:0}} figure svg{{width:100%;height:auto;display:block}} figure svg text{{font-family:system-ui,sans-serif}}
.verdict{{font-weight:600;white-space:nowrap}} .holds{{color:var(--yes)}} .holds_if{{color:var(--if)}} .does_not_hold{{color:var(--no)}}
.condition{{border-left:3px solid var(--grid);padding-left:.7rem}}
.missing{{color:var(--no);font-weight:600}}
details{{margin:.4rem 0}} summary{{cursor:pointer;color:var(--faint)}}
pre{{background:var(--wash);padding:.7rem;border-radius:.4rem;overflow-x:auto;margin:.4rem 0}}
.pair{{display:grid;gap:0 1rem;grid-template-columns:repeat(2,minmax(0,1fr))}}
@media(max-width:60rem){{section{{grid-template-columns:minmax(0,1fr)}}.pair{{grid-template-columns:minmax(0,1fr)}}}}
@media(max-width:40rem){{.tools thead{{display:none}}.tools tr,.tools td{{display:block;border:0;padding:.15rem 0}}
.tools tr{{border-bottom:1px solid var(--grid);padding:.5rem 0}}.tools td::before{{content:attr(data-name)" ";color:var(--faint)}}}}
"""
_SCRIPT = """
const root=document.documentElement;
document.getElementById('theme').onclick=()=>{
  const dark=root.dataset.theme?root.dataset.theme==='dark':matchMedia('(prefers-color-scheme:dark)').matches;
  root.dataset.theme=dark?'light':'dark'};
"""


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
        f"<h1>What is true about clearing gradients</h1><p>{len(results)} published claims, run and measured. "
        "Every verdict is computed from the numbers of this run.</p>"
        f"<p class=faint>{_safe(about['date'])}, {_safe(about['machine'])}, zerograd {_safe(about['zerograd'])} "
        "<button id=theme>light / dark</button></p>"
    )
    text = (
        '<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width,initial-scale=1">'
        f"<title>zerograd lab</title><style>{_CSS}</style><body>{head}{_contents(results)}{''.join(parts)}"
        f"<script>{_SCRIPT}</script></body></html>\n"
    )
    (folder / "lab.html").write_text(text, encoding="utf-8")


def _contents(results: list[Result]) -> str:
    rows = "".join(
        f"<tr><td><a href=#{result.claim.id}>{result.claim.id}</a></td><td>{_safe(result.claim.statement)}</td>"
        f"<td>{_verdict(result)}</td></tr>"
        for result in results
    )
    return f"<table>{rows}</table><p></p>"


def _verdict(result: Result) -> str:
    ruling = result.verdict.ruling
    return f'<span class="verdict {ruling.value}">{ruling.words}</span>'


def _section(result: Result, svg: str) -> str:
    claim, verdict = result.claim, result.verdict
    condition = f"<p class=condition>{_safe(verdict.condition)}</p>" if verdict.condition else ""
    return (
        f"<section id={claim.id}><div><h2>{claim.id} {_safe(claim.statement)}</h2>"
        f"<p>{_verdict(result)}</p><p>{_safe(claim.shown(result.measured))}</p>{condition}"
        f"<p><b>What to do.</b> {_safe(claim.advice)}</p></div>"
        f"<figure>{svg}<figcaption>{_safe(claim.see)}</figcaption></figure>"
        f"<div class=wide>{_tools(result.meetings)}"
        f"<details><summary>all that was measured</summary>{_numbers(result.measured)}</details></div></section>"
    )


def _tools(meetings: tuple[Meeting, ...]) -> str:
    if not meetings:
        return ""
    rows = "".join(
        f"<tr><td data-name=loop>{_safe(meeting.loop)}{_ends(meeting)}</td><td data-name=check>{_codes(meeting.check)}</td>"
        f"<td data-name=audit>{_codes(meeting.audit)}</td><td data-name=Step>{_step(meeting)}</td></tr>"
        for meeting in meetings
    )
    texts = "".join(
        f"<details><summary>{_safe(meeting.loop)}, and the same through Step</summary>"
        f"<div class=pair><pre>{_safe(meeting.text)}</pre><pre>{_safe(meeting.step_text)}</pre></div></details>"
        for meeting in meetings
    )
    head = "<thead><tr><th>wrong loop</th><th>check</th><th>audit</th><th>how Step cannot have it</th></tr></thead>"
    return f"<table class=tools>{head}{rows}</table>{texts}"


def _ends(meeting: Meeting) -> str:
    return f"<br><span class=faint>ends with {_safe(meeting.ends.partition(':')[0])}</span>" if meeting.ends else ""


def _codes(told: tuple[str, ...]) -> str:
    return _safe(", ".join(told)) if told else "<span class=missing>missing</span>"


def _step(meeting: Meeting) -> str:
    return _safe(meeting.step) if meeting.step_is_right else f"<span class=missing>missing</span>: {_safe(meeting.step)}"


def _numbers(measured: dict[str, object]) -> str:
    rows = "".join(f"<tr><td>{_safe(name)}</td><td>{_safe(brief(value))}</td></tr>" for name, value in measured.items())
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


def _safe(text: str) -> str:
    return html.escape(str(text))
