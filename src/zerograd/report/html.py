"""A story as one HTML file: page, style, script and data, no network.

[Note: escaping] Whatever a trace says is data. It travels as JSON of plain ASCII in which no `<`, `>` or `&` stands.
The page puts it in place as text and never as markup, and forbids its browser every script and style but its own.
"""

import base64
import hashlib
import json
import re
from importlib.resources import files

from zerograd.report.data import data
from zerograd.report.story import Story

_DRAWN = ("model.js", "draw.js", "strips.js", "painting.js", "timeline.js", "charts.js")
_SCRIPTS = (
    *_DRAWN,
    "tip.js",
    "chain.js",
    "findings.js",
    "tables.js",
    "keys.js",
    "page.js",
)  # each after what it imports
_DANGEROUS = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def html(story: Story) -> str:
    told = json.dumps(data(story), separators=(",", ":"), allow_nan=False)
    for character, escape in _DANGEROUS.items():
        told = told.replace(character, escape)
    style, script = _part("style.css"), '"use strict";\nconst modules = {};\n' + "".join(map(_module, _SCRIPTS))
    return (
        _part("page.html")
        .replace("{{policy}}", f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}")
        .replace("{{style}}", style)
        .replace("{{script}}", script)
        .replace("{{data}}", told)  # last: what it says is never read as a place to fill
    )


def _part(name: str) -> str:
    return (files("zerograd.report") / "page" / name).read_text("utf-8")


def _module(name: str) -> str:
    """One of the page's modules, in a function of its own: a page on disk cannot import."""
    text = _part(name)
    exports = re.findall(r"^export (?:function|class|const) (\w+)", text, re.M)
    text = re.sub(r'^import (\{[^}]*\}) from ("[^"]*");$', r"const \1 = modules[\2];", text, flags=re.M)
    text = re.sub(r"^export ", "", text, flags=re.M)
    return f'modules["./{name}"] = (() => {{\n{text}return {{ {", ".join(exports)} }};\n}})();\n'


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
