"""The look of a page: one file that needs nothing else, in light and in dark, also on a telephone."""

import html
import re
from pathlib import Path

from zerograd.lab.figure import DARK_CSS, LIGHT_CSS

_LIGHT = f"{LIGHT_CSS}--wash:#f4f6f8;--yes:#1a7f37;--if:#8a5a00;--no:#b42318"
_DARK = f"{DARK_CSS}--wash:#1d232a;--yes:#56d364;--if:#e3b341;--no:#ff8a75"
_THEMES = (
    f":root{{{_LIGHT}}}"
    f"@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{_DARK}}}}}"
    f":root[data-theme=dark]{{{_DARK}}}"
)
_SCRIPT = """
const root = document.documentElement;
document.getElementById('theme').onclick = () => {
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = dark ? 'light' : 'dark';
};
"""
TURN = "<button id=theme>light / dark</button>"  # a page shows it once


def whole_page(title: str, body: str) -> str:
    """A document in our style."""
    css = _THEMES + (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    head = '<meta charset=utf-8><meta name=viewport content="width=device-width,initial-scale=1">'
    return (
        f"<!doctype html><html lang=en>{head}<title>{safe(title)}</title><style>{css}</style>"
        f"<body>{body}<script>{_SCRIPT}</script></body></html>\n"
    )


def safe(text: object) -> str:
    return html.escape(str(text))


def prose(text: str) -> str:
    """Words with code between backquotes."""
    return re.sub("`(.+?)`", r"<code>\1</code>", safe(text))
