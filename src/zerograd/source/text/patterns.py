"""Patterns that are compiled when they are first asked. There are hundreds, most projects ask a quarter of them, and to
compile all takes longer than to check a few files."""

import re
from typing import Any, AnyStr, cast

_ASKED = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub")


def pattern(words: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As re.compile(), but later."""
    return cast("re.Pattern[AnyStr]", Later(words, flags))


class Later:
    """Stands for a compiled pattern, and has its methods once it is asked for one of them."""

    def __init__(self, words: Any, flags: int) -> None:
        self._made_of = words, flags

    def __getattr__(self, name: str) -> Any:  # what it has by then, Python finds without asking here
        compiled = re.compile(*self._made_of)
        self.__dict__.update((one, getattr(compiled, one)) for one in _ASKED)
        return getattr(compiled, name)
