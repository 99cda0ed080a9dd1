"""Whether a text cuts something from its graph at all: a look at the words, before anything is parsed."""

import re
from functools import lru_cache

from zerograd.source.text.patterns import pattern

_CUT = pattern(
    r"\.(item|detach|numpy|tolist)\(\)|\.data\b|no_grad|ensor\(|from_numpy|argm(ax|in)\(|\bgrad\(|\.(long|int|bool|byte)\(\)"
    r"|\.(eq|gt|ge|lt|le|ne)\(|\b(np|scipy|ndimage|cv2|skimage|measure)\.|[^-=<>]>=? |[^<>]<=? | == "
)
_ASKS = pattern(r"^\s*(#|if|elif|while|assert|for|return .* if|\"\"\"|def|class|print)\b")
_CALLED = pattern(r"\b([A-Za-z_]\w*)\(")
_BEGINS = pattern(r"^(?:class|(?:async )?def) (\w+)", re.MULTILINE)
_ENDS = pattern(r"^[^\s#)\]]", re.MULTILINE)
_DEEP = 2


def cuts(name: str, text: str) -> bool:
    """Whether a function or a class of a file does, or a function of that file that it calls."""
    known, seen, pending = _definitions(text), {name}, [name]
    for _ in range(_DEEP + 1):
        own = [known[one] for one in pending if one in known]
        if any(map(cuts_in, own)):
            return True
        pending = [one for one in {found for part in own for found in _CALLED.findall(part)} if one not in seen]
        seen.update(pending)
    return False


def cuts_in(text: str) -> bool:
    """Whether these lines do, and not only to ask something."""
    return any(_CUT.search(line) and not _ASKS.match(line) for line in text.split("\n"))


@lru_cache(maxsize=4)  # several names are asked for in one file
def _definitions(text: str) -> dict[str, str]:
    """The lines of the functions and classes at the file's own level."""
    found: dict[str, str] = {}
    for begin in _BEGINS.finditer(text):
        end = _ENDS.search(text, begin.end())
        found.setdefault(begin[1], text[begin.start() : end.start() if end is not None else len(text)])
    return found
