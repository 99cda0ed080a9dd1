"""The look of a page: one file that needs nothing else, in light and in dark, also on a telephone."""

import html

from zerograd.lab.figure import DARK_CSS, LIGHT_CSS

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


def whole_page(title: str, body: str) -> str:
    """A document with our style, and a button that turns it from light to dark."""
    return (
        '<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width,initial-scale=1">'
        f"<title>{safe(title)}</title><style>{_CSS}</style><body>{body}<script>{_SCRIPT}</script></body></html>\n"
    )


def safe(text: str) -> str:
    return html.escape(str(text))
