"""Whether parameters are frozen and thawed in a file, or gradients reversed."""

from zerograd.source.text.patterns import pattern

_FREEZES = pattern(
    r"set_requires_grad|toggle_grad|toggle_optimizer|freeze|\.requires_grad\s*=|requires_grad_\((?!\)|True)|Revers|grad_reverse"
)
# One of these is in each of them. GradientReversal, ReverseLayer: what is left in others is meant for them.
_FROZEN = ("freeze", "toggle_", "requires_grad", "Revers", "grad_reverse")


def freezes(text: str) -> bool:
    """Whether parameters are frozen and thawed, or gradients reversed: then a loss does not tell whom it is for."""
    return any(word in text for word in _FROZEN) and _FREEZES.search(text) is not None
