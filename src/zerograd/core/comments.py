"""Comments that allow findings, as they stand in a text.

    optimizer.step()  # zerograd: ignore[ZG001] the losses are summed on purpose
    # zerograd: ignore[ZG001, ZG004]      on a line of its own: the statement below
    optimizer.step()  # zerograd: ignore
    # zerograd: ignore-file[ZG101]        wherever it stands: the whole file
    optimizer.step()  # noqa: ZG001       as flake8 and ruff know it, with codes or without

They are found by tokenising: the same words in a string allow nothing.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

# An open bracket, or a code without brackets, is a slip of the hand: it must not allow everything.
_NATIVE = re.compile(r"#\s*zerograd:\s*ignore(?P<file>-file)?(?:\[(?P<items>[^\]#]+)\]|(?![\w\[-])(?!\s*[:(]?\s*ZG\d))")
_NOQA = re.compile(r"#\s*noqa(?::\s*(?P<items>[A-Z]+\d+(?:[\s,]+[A-Z]+\d+)*))?(?![\w-])", re.IGNORECASE)
_ITEM = re.compile(r"[^\s,]+")
_SILENT = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


class Item(NamedTuple):
    """One of the rules that a comment names, as it is written, and where in its line: characters, from 0."""

    word: str
    start: int
    end: int


class Comment(NamedTuple):
    """A comment that is addressed to us, among others or alone."""

    line: int
    start: int  # characters of the line, from 0: the # it begins with
    end: int
    reach: int  # the reason behind it ends here, where another comment begins or the line ends
    items: tuple[Item, ...]  # empty: every rule
    native: bool
    first: int  # the lines it is for; 0 to 0: the whole file
    last: int
    alone: bool  # nothing else stands in its line

    @property
    def is_for_file(self) -> bool:
        return self.first == 0

    def covers(self, line: int) -> bool:
        return self.is_for_file or self.first <= line <= self.last


class Statement(NamedTuple):
    """The lines of a statement, or of the head of one that has a body; and the comments in it and right above it."""

    first: int
    last: int
    inside: tuple[tokenize.TokenInfo, ...]
    above: tuple[tokenize.TokenInfo, ...]


def statements_of(text: str) -> Iterator[Statement]:
    """In the order of the text. What cannot be tokenised to its end is read as far as it can be."""
    inside: list[tokenize.TokenInfo] = []
    above: list[tokenize.TokenInfo] = []
    first = 0
    try:
        # Universal newlines: a lone \r ends a line for the parser too.
        for token in tokenize.generate_tokens(io.StringIO(text, newline=None).readline):
            if token.type == tokenize.COMMENT:
                (inside if first else above).append(token)
            elif token.type == tokenize.NEWLINE and first:
                yield Statement(first, token.start[0], tuple(inside), tuple(above))
                inside, above, first = [], [], 0
            elif token.type not in _SILENT and not first:
                first = token.start[0]
    except (tokenize.TokenError, SyntaxError):
        pass
    for comment in above:  # no statement follows: its own line is all it is for
        yield Statement(comment.start[0], comment.start[0], (comment,), ())


def may_name_us(text: str) -> bool:
    """False only for a text whose comments are all for other tools: a look at the words, before they are tokenised."""
    return "zerograd:" in text or any(
        match["items"] is None or "ZG" in match["items"].upper() for match in _NOQA.finditer(text)
    )


def comments_of(text: str) -> list[Comment]:
    """In the order of the text."""
    found: list[Comment] = []
    for first, last, inside, above in statements_of(text):
        for token in above:
            found += _read(token, first, last)
        for token in inside:
            line = token.start[0]
            found += _read(token, *((first, last) if line in (first, last) else (line, line)))
    return sorted(found)


def _read(token: tokenize.TokenInfo, first: int, last: int) -> Iterator[Comment]:
    """The parts of one comment that are for us: `# type: ignore # zerograd: ignore[ZG001]` has one."""
    line, offset = token.start
    alone = not token.line[:offset].strip()
    for pattern, native in ((_NATIVE, True), (_NOQA, False)):
        for match in pattern.finditer(token.string):
            if native and match["file"]:
                first = last = 0
            behind = token.string.find("#", match.end())
            yield Comment(
                line,
                start=offset + match.start(),
                end=offset + match.end(),
                reach=offset + (len(token.string) if behind < 0 else behind),
                items=_items(match, offset),
                native=native,
                first=first,
                last=last,
                alone=alone and match.start() == 0 and behind < 0,
            )


def _items(match: re.Match[str], offset: int) -> tuple[Item, ...]:
    start = offset + match.start("items")
    return tuple(
        Item(item[0], start + item.start(), start + item.end()) for item in _ITEM.finditer(match["items"] or "")
    )
