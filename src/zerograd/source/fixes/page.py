"""A text that is to be changed: the changes that insert, delete, move or rewrite some of its statements.

Everything that is not changed stays as it is written: comments, blank lines, line ends, tabs. A statement that shares
its line with others (`for x in y: a(); b()`) is changed on that line. What cannot be done gives None.
"""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Fix, Safety
from zerograd.source.fixes.places import Change
from zerograd.source.fixes.statements import Statements
from zerograd.source.text.nodes import holds, place

_COMPOUND = (
    *(ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *(ast.If, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match),
)


class Page(Statements):
    def fix(self, message: str, *changes: Change | None, safety: Safety = Safety.UNSAFE) -> Iterator[Fix]:
        """A fix of these changes, unless one of them cannot be made."""
        if changes and all(change is not None for change in changes):
            made = sorted((change for change in changes if change is not None), key=lambda change: change[:2])
            yield Fix(message, tuple(map(self.places.edit, made)), safety)

    def replace(self, node: ast.AST, text: str) -> Change:
        return Change(*self.span(node), text)

    def behind(self, node: ast.AST, text: str) -> Change:
        end = self.span(node)[1]
        return Change(end, end, text)

    def receiver_text(self, attribute: ast.Attribute) -> str:
        """What stands before the dot, with its parentheses."""
        start, dot = self._receiver(attribute)
        return self.text[start:dot].rstrip()

    def replace_receiver(self, attribute: ast.Attribute, text: str) -> Change:
        start, _ = self._receiver(attribute)
        return Change(start, start + len(self.receiver_text(attribute)), text)

    def _receiver(self, attribute: ast.Attribute) -> tuple[int, int]:
        start, end = self.span(attribute)
        return start, self.text.rindex(".", start, end)

    def keep_left(self, operation: ast.BinOp, left: ast.expr) -> Change | None:
        """An operation without its operator and its right side."""
        behind, end = self.span(left)[1], self.span(operation)[1]
        operator = self.span(operation.right)[0]
        kept = self.text[behind:operator].rstrip("( \t").rstrip("/*%").rstrip()
        return Change(behind + len(kept), end, "") if kept.strip(") \t") == "" else None

    def replace_operand(self, operation: ast.BinOp, text: str) -> Change | None:
        """An operation with another left side, parentheses and all."""
        start, behind = self.span(operation)[0], self.span(operation.left)[1]
        closing = self.text[behind : self.span(operation.right)[0]].partition("%")[0].rstrip()
        return Change(start, behind + len(closing), text) if closing.strip(") \t") == "" else None

    def before(self, statement: ast.stmt, *codes: str) -> Change | None:
        """New statements, each of one line, before another."""
        start = self._start(statement)
        if self._begins_line(start):
            at, indent = self.places.line_of(start)[0], self._indent(start)
            return Change(at, at, "".join(f"{indent}{code}{self.places.line_end}" for code in codes))
        if isinstance(statement, _COMPOUND):
            return None
        return Change(start, start, "".join(f"{code}; " for code in codes))

    def after(self, statement: ast.stmt, *codes: str) -> Change | None:
        """New statements, each of one line, behind another."""
        start, end = self._start(statement), self.span(statement)[1]
        if self._begins_line(start) and self._ends_line(end):
            at, indent = self.places.line_of(end)[1], self._indent(start)
            return Change(at, at, "".join(f"{self.places.line_end}{indent}{code}" for code in codes))
        if isinstance(statement, _COMPOUND):
            return None
        return Change(end, end, "".join(f"; {code}" for code in codes))

    def under(self, statement: ast.stmt, head: str, code: str, *codes: str) -> Change | None:
        """In place of a statement of one line, a block with `code` in it, and more statements behind it."""
        start, end = self._start(statement), self.span(statement)[1]
        if not self._begins_line(start) or not self._ends_line(end):
            return None
        indent = self._indent(start)
        deeper = indent + ("\t" if indent.endswith("\t") else "    ")
        lines = [
            head,
            f"{deeper}{code}{self.text[end : self.places.line_of(end)[1]]}",
            *(indent + one for one in codes),
        ]
        return Change(start, self.places.line_of(end)[1], self.places.line_end.join(lines))

    def delete(self, statement: ast.stmt) -> Change | None:
        block = self.block(statement)
        if len(block) == 1:
            return None
        start, end = self._start(statement), self.span(statement)[1]
        begins, ends = self._begins_line(start), self._ends_line(end)
        number = block.index(statement)
        if begins and ends:
            first, last = self.places.line_of(start)[0], self.places.behind_line(end)
            if last == len(self.text) and not self.text.endswith(("\n", "\r")):  # the last line has no end of its own
                first = self.span(block[number - 1])[1] if number else first
            return Change(first, last, "")
        if not ends and number + 1 < len(block):
            return Change(start, self._start(block[number + 1]), "")
        return Change(self.span(block[number - 1])[1], end, "") if not begins and number else None

    def move(
        self, statement: ast.stmt, *, before: ast.stmt | None = None, after: ast.stmt | None = None
    ) -> tuple[Change | None, ...]:
        """A statement taken away and put elsewhere, with the comment on its line."""
        target = before or after
        assert target is not None
        if self._is_disturbed(statement, target, behind=after is not None):
            return (None,)
        start, end = self._start(statement), self.span(statement)[1]
        whole = self._begins_line(start) and self._ends_line(end)
        there = self._start(target)
        to_line = self._begins_line(there) and (before is not None or self._ends_line(self.span(target)[1]))
        if to_line:
            written = self.text[start : self.places.line_of(end)[1]].rstrip() if whole else self.text[start:end]
            code = self._shifted(statement, written, self._indent(start), self._indent(there))
        else:
            code = self.text[start:end] if self.places.place(start)[0] == self.places.place(end)[0] else None
        if code is None or (not to_line and isinstance(statement, _COMPOUND)):
            return (None,)
        return self.delete(statement), self.before(target, code) if before else self.after(target, code)

    def _is_disturbed(self, statement: ast.stmt, target: ast.stmt, *, behind: bool) -> bool:
        """Whether what lies on the way makes a name that the statement reads, or reads one that it makes."""
        here, there = place(statement)[0], place(target)[1 if behind else 0]
        low, high = min(here, there), max(here, there)
        reads, makes = _names(statement, ast.Load), _names(statement, ast.Store)
        names = [node for node in ast.walk(self.function(statement)) if isinstance(node, ast.Name)]
        between = [name for name in names if low <= place(name)[0] < high and not holds(statement, name)]
        if any(name.id in makes or (name.id in reads and isinstance(name.ctx, ast.Store)) for name in between):
            return True
        # What it makes may not be there outside the branch that it is moved into.
        around = next(self.around(target))
        elsewhere = [name for name in names if not holds(around, name) and not holds(statement, name)]
        return target not in self.block(statement) and any(name.id in makes for name in elsewhere)

    def _shifted(self, statement: ast.stmt, written: str, old: str, new: str) -> str | None:
        """The lines of a statement, as they are written at another depth; None if a string would change with them."""
        if old == new or not any(end in written for end in "\r\n"):
            return written
        if any(
            isinstance(node, ast.Constant | ast.JoinedStr) and node.lineno != node.end_lineno
            for node in ast.walk(statement)
        ):
            return None
        lines = written.split(self.places.line_end)
        return self.places.line_end.join(
            [lines[0], *(new + line[len(old) :] if line.startswith(old) else line for line in lines[1:])]
        )

    def _start(self, statement: ast.stmt) -> int:
        """Where it begins, with its decorators and their @."""
        start = self.span(statement)[0]
        decorators = getattr(statement, "decorator_list", [])
        return self.text.rindex("@", 0, self.span(decorators[0])[0]) if decorators else start

    def _begins_line(self, start: int) -> bool:
        """Whether nothing stands before it on its line, and no line before goes on into this one."""
        first = self.places.line_of(start)[0]
        goes_on = self.text[max(0, first - 3) : first].rstrip("\r\n").endswith("\\")
        return not self.text[first:start].strip() and not goes_on

    def _ends_line(self, end: int) -> bool:
        """Whether no other statement stands behind it on its line; a comment or an idle semicolon may."""
        rest = self.text[end : self.places.line_of(end)[1]].strip().removeprefix(";").lstrip()
        return not rest or rest.startswith("#")

    def _indent(self, start: int) -> str:
        return self.text[self.places.line_of(start)[0] : start].replace("\f", "")


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, context)}
