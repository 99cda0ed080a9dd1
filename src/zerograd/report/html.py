"""A story as one HTML file: page, style, script and data, no network.

[Note: escaping] Whatever a trace says is data. It travels as JSON of plain ASCII in which no `<`, `>` or `&` stands.
The page puts it in place as text and never as markup, and forbids its browser every script and style but its own.
"""

import base64
import hashlib
import json
from importlib.resources import files

from zerograd.report.data import data
from zerograd.report.story import Story

_SCRIPTS = ("model.js", "draw.js", "timeline.js", "charts.js", "findings.js", "tables.js", "page.js")
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
    """One of the page's modules, in a function of its own: modules cannot be imported from a file on disk."""
    lines = _part(name).splitlines()
    exports: list[str] = []
    body: list[str] = []
    for line in lines:
        if line.startswith("import "):
            names, _, source = line.removeprefix("import ").rstrip(";").partition(" from ")
            body.append(f"const {names} = modules[{source.strip()}];")
        elif line.startswith("export "):
            line = line.removeprefix("export ")
            exports.append(line.split()[1].partition("(")[0])
            body.append(line)
        else:
            body.append(line)
    text = "\n".join(body)
    return f'modules["./{name}"] = (() => {{\n{text}\nreturn {{ {", ".join(exports)} }};\n}})();\n'


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
