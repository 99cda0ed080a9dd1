"""The source behind a shown path, for excerpts: also of what has no file, such as the cells of a notebook."""

import linecache

from zerograd.run.sites import located


def listing(path: str) -> list[str] | None:
    lines = linecache.getlines(located(path))
    return [line.rstrip("\n") for line in lines] or None
