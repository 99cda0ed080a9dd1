"""--add-ignore: a comment on every finding's line, so that a repository can begin clean.

Comments go behind the last line of a statement, where one is always allowed: no line moves, and everything else in the
file stays as it was, byte for byte.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from zerograd.core.comments import Comment, comments_of, statements_of
from zerograd.core.findings import Edit, Finding
from zerograd.errors import SourceError
from zerograd.source.files.discover import NOTEBOOK, encoding_of, read_text
from zerograd.source.text.lines import lines_of, replaced, to_column
from zerograd.source.text.suppression import UNUSED


class Added(NamedTuple):
    findings: int
    files: int
    refused: list[str]  # one line about each file that was left alone


def add_ignores(findings: Sequence[Finding]) -> Added:
    """`findings` are in the order of their places. A comment that is of no use is not allowed, but taken away."""
    allowed = files = 0
    refused: list[str] = []
    for path, group in groupby(
        (finding for finding in findings if finding.code != UNUSED), lambda finding: finding.site.path
    ):
        try:
            allowed += _rewrite(path, list(group))
            files += 1
        except SourceError as error:
            refused.append(error.what)
    return Added(allowed, files, refused)


def _rewrite(path: str, findings: list[Finding]) -> int:
    text = read_text(path)
    allowed = _in_cells if path.endswith(NOTEBOOK) else _in_file
    new = allowed(text, findings, path)
    try:
        with open(path, "rb") as file:
            raw = file.read()
        encoding = encoding_of(raw)
        whole = raw.decode(encoding)
        if whole.encode(encoding) != raw:
            raise SourceError(f"{path}: its encoding does not give its bytes back: left alone", slug="unreadable-file")
        with open(path, "wb") as file:
            file.write(whole[: len(whole) - len(text)].encode(encoding) + new.encode(encoding))
    except OSError as error:
        raise SourceError(f"{path}: cannot be written: {error.strerror}", slug="unreadable-file") from None
    return len(findings)


def _in_file(text: str, findings: Sequence[Finding], path: str) -> str:
    return replaced(text, with_ignores(text, findings, path))


def _in_cells(text: str, findings: Sequence[Finding], path: str) -> str:
    """Of a notebook: each cell is a text of its own, and no byte around them changes."""
    from zerograd.source.notebooks.layout import read_cells
    from zerograd.source.notebooks.magics import tame
    from zerograd.source.notebooks.rewriting import rewrite

    edits: list[Edit] = []
    for cell in read_cells(text, path):
        inside = [one._replace(site=one.site._replace(cell=0)) for one in findings if one.site.cell == cell.number]
        lines = lines_of(cell.source)
        new = with_ignores(tame(cell.source).text or "", inside, f"{path}:cell {cell.number}") if inside else {}
        edits += [Edit(at, 1, at, to_column(lines[at - 1], len(lines[at - 1])), new[at], cell.number) for at in new]
    return rewrite(text, path, edits)


def with_ignores(text: str, findings: Sequence[Finding], path: str) -> dict[int, str]:
    """The lines that change, by number, so that comments allow all of the findings."""
    lines = lines_of(text)
    ends = {line: one.last for one in statements_of(text) for line in range(one.first, one.last + 1)}
    present = {one.line: one for one in comments_of(text) if one.native and one.items and not one.is_for_file}
    codes: dict[int, list[str]] = {}
    for finding in findings:
        end = ends.get(finding.site.line)
        if end is None or finding.site.line > len(lines):
            raise SourceError(f"{path}: line {finding.site.line} can take no comment: left alone", slug="not-python")
        codes.setdefault(end, []).append(finding.code)
    return {
        line: _commented(lines[line - 1], sorted(set(several)), present.get(line)) for line, several in codes.items()
    }


def _commented(line: str, codes: list[str], present: Comment | None) -> str:
    """Codes join a list that is there already; otherwise they follow whatever the line ends with."""
    if present is None:
        return f"{line.rstrip()}  # zerograd: ignore[{', '.join(codes)}]"
    items = sorted({*codes, *(item.word for item in present.items)})
    return line[: present.items[0].start] + ", ".join(items) + line[present.items[-1].end :]
