"""The page of errors, docs/errors.md: the wheel has a copy of it beside this file, and a clone the page itself."""

import re
from pathlib import Path

_COPY = Path(__file__).with_name("errors.md")
_PAGE = Path(__file__).parents[3] / "docs" / "errors.md"


def entries() -> dict[str, str]:
    """What is said of each error, by its slug."""
    text = (_COPY if _COPY.exists() else _PAGE).read_text(encoding="utf-8")
    _, *parts = re.split(r"^### ", re.sub(r"^## .*\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE)
    found = (part.partition("\n") for part in parts)
    return {slug.strip(): _without_links(said).strip() for slug, _, said in found}


def _without_links(text: str) -> str:
    return re.sub(r"\[([^\]]+)\]\([^)\s]+\)", r"\1", text)
