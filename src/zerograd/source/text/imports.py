"""What a text imports, told by its lines alone: for files that need not be parsed."""

import re
from collections.abc import Iterator

_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+\(?([^\n]*)|import[ \t]+([^\n]+))", re.MULTILINE)


def imports_of(text: str) -> Iterator[tuple[str, str]]:
    """(module, name) of each import, the name being nothing for `import module`. Of a list in parentheses that goes on
    below, the names of the first line."""
    for module, names, plain in _IMPORT.findall(text):
        for name in names.split(",") if module else plain.split(","):
            first = (name.split() or [""])[0].strip("()")
            yield (module, first) if module else (first, "")
