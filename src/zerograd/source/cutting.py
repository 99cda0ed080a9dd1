"""Whether a text cuts something from its graph at all: a look at the words, before anything is parsed."""

import re

_CUT = re.compile(
    r"\.(item|detach|numpy|tolist)\(\)|\.data\b|no_grad|ensor\(|from_numpy|argm(ax|in)\(|\bgrad\(|\.(long|int|bool|byte)\(\)"
    r"|\.(eq|gt|ge|lt|le|ne)\(|\b(np|scipy|ndimage|cv2|skimage|measure)\.|[^-=<>]>=? |[^<>]<=? | == "
)
_ASKS = re.compile(r"^\s*(#|if|elif|while|assert|for|return .* if|\"\"\"|def|class|print)\b")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\(")
_DEEP = 2


def cuts(name: str, text: str, deep: int = _DEEP) -> bool:
    """Whether a function or a class of a file does, or a function of that file that it calls."""
    own = _definition(name, text)
    if own is None:
        return False
    if cuts_in(own):
        return True
    called = {found for found in _CALLED.findall(own) if found != name} if deep else set()
    return any(cuts(other, text, deep - 1) for other in called)


def cuts_in(text: str) -> bool:
    """Whether these lines do, and not only to ask something."""
    return any(_CUT.search(line) and not _ASKS.match(line) for line in text.split("\n"))


def _definition(name: str, text: str) -> str | None:
    """The lines of a function or class at the file's own level."""
    begin = re.search(rf"^(?:class|(?:async )?def) {name}\b", text, re.MULTILINE)
    if begin is None:
        return None
    end = re.compile(r"^[^\s#)\]]", re.MULTILINE).search(text, begin.end())
    return text[begin.start() : end.start() if end is not None else len(text)]
