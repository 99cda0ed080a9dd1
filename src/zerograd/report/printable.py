"""Text from a trace, made safe to look at: nothing in it hides, reverses or overflows what stands around it."""

import re

# Controls, marks that turn the direction of text or show nothing, separators that end a line, halves of characters.
_TREACHEROUS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_LONGEST = 300


def printable(text: object, *, longest: int = _LONGEST) -> str:
    """The text with such characters written out, cut in its middle if it is longer than anybody reads."""
    plain = str(text)
    if len(plain) > longest:
        plain = f"{plain[: longest * 2 // 3]}...{plain[-longest // 3 :]}"
    return _TREACHEROUS.sub(lambda found: f"\\u{ord(found[0]):04x}", plain)
