"""python docs/making/api.py: write docs/api.md, from the signatures and docstrings of the public names."""

import ast
import inspect
import re
import textwrap
from pathlib import Path

import zerograd
from zerograd.core import findings
from zerograd.engine import capturing, outcome
from zerograd.run import audit
from zerograd.source.check import check_text

PAGE = Path(__file__).parents[1] / "api.md"
HEAD = """\
# API reference

Made by `make pages` from the signatures and docstrings; a test holds it to them. These are all the public names of
`import zerograd`, and the objects that they give you. Everything else may change at any time. Names are resolved when
they are first used: `zerograd.check` works without torch, the rest of the functions need it.
"""
SECTIONS: dict[str, dict[str, object]] = {
    "The step": {name: getattr(zerograd, name) for name in ("Step", "groups", "join")},
    "What a step gives you": {"Outcome": outcome.Outcome, "Ending": outcome.Ending, "Captured": capturing.Captured},
    "Runs that go on": {name: getattr(zerograd, name) for name in ("Checkpoints", "Cursor")},
    "The audit": {"audit": zerograd.audit, "Audit": audit.Audit},
    "Source": {"check": check_text},
    "Findings": {
        "Finding": findings.Finding,
        "Certainty": findings.Certainty,
        "Severity": findings.Severity,
    },
}
ERRORS = [
    name
    for name in zerograd.__all__
    if inspect.isclass(getattr(zerograd, name)) and issubclass(getattr(zerograd, name), zerograd.ZerogradError)
]
# What a framework calls, or another part of zerograd: nobody writes it.
_NOT_FOR_PEOPLE = {"raised", "restart"}


def page() -> str:
    """The whole reference as Markdown."""
    parts = [HEAD]
    for title, named in SECTIONS.items():
        parts.append(f"## {title}\n")
        parts += [
            _entry(f"zerograd.{name}" * (name in zerograd.__all__) or name, value) for name, value in named.items()
        ]
    parts.append("## Errors\n\nEvery one is a `zerograd.ZerogradError`; [errors.md](errors.md) explains each slug.\n")
    parts.append("| error | means |\n|---|---|")
    parts += [f"| `zerograd.{name}` | {inspect.getdoc(getattr(zerograd, name))} |" for name in ERRORS]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)) + "\n"


def _entry(name: str, value: object) -> str:
    source = textwrap.dedent(inspect.getsource(value))  # type: ignore[arg-type]
    tree = ast.parse(source).body[0]
    if isinstance(tree, ast.FunctionDef):
        return f"### `{name}`\n\n" + _block(_signature(name, tree, method=False)) + _told(tree)
    assert isinstance(tree, ast.ClassDef)
    short = name.rpartition(".")[2].lower()
    members = [_member(short, node) for node in tree.body if isinstance(node, ast.FunctionDef) and _public(node)]
    fields = [line for node in tree.body for line in _field(node, source.splitlines())]
    made = next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"), None)
    given = name in ("Audit", "Captured")  # nobody makes these by hand
    signature = "" if made is None or given else _block(_signature(name, made, method=True))
    listed = "| | | |\n|---|---|---|\n" + "\n".join(fields) + "\n\n" if fields else ""
    return f"### `{name}`\n\n" + signature + _told(tree) + listed + "".join(members)


def _public(node: ast.FunctionDef) -> bool:
    return not node.name.startswith("_") and node.name not in _NOT_FOR_PEOPLE


def _field(node: ast.stmt, lines: list[str]) -> list[str]:
    """A field or a member of an enum, with the comment that stands behind it."""
    said = lines[node.lineno - 1].partition("  # ")[2]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        kind = ast.unparse(node.annotation).replace("|", "\\|")
        default = f" = {ast.unparse(node.value)}" if node.value is not None else ""
        return [f"| `{node.target.id}` | `{kind}{default}` | {said} |"]
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Constant):
        return [f"| `{node.targets[0].id}` | `{node.value.value!r}` | {said} |"]
    return []


def _member(owner: str, node: ast.FunctionDef) -> str:
    heading = f"#### `{owner}.{node.name}`\n\n"
    if any(ast.unparse(decorator) == "property" for decorator in node.decorator_list):
        return (
            heading + _block(f"{node.name}: {ast.unparse(node.returns)}" if node.returns else node.name) + _told(node)
        )
    return heading + _block(_signature(node.name, node, method=True)) + _told(node)


def _signature(name: str, node: ast.FunctionDef, *, method: bool) -> str:
    parts = [re.sub(r"^(\w+: .*?)=", r"\1 = ", part) for part in _split(ast.unparse(node.args))]
    parts = parts[1:] if method else parts
    shown = "" if node.returns is None or node.name == "__init__" else f" -> {ast.unparse(node.returns)}"
    one_line = f"{name}({', '.join(parts)}){shown}"
    if len(one_line) <= 100:
        return one_line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){shown}"


def _split(text: str) -> list[str]:
    """At the commas that stand outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _block(code: str) -> str:
    return f"```text\n{code}\n```\n\n"


def _told(node: ast.FunctionDef | ast.ClassDef) -> str:
    """The docstring: its sentences as text, its tables of arguments and examples as they stand."""
    paragraphs = (ast.get_docstring(node) or "").split("\n\n")
    shown = [f"```text\n{part}\n```" if "   " in part or ">>>" in part else part for part in paragraphs if part]
    return "\n\n".join(shown).replace("docs/capture.md", "[capture.md](capture.md)") + "\n\n" * bool(shown)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
