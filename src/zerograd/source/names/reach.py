"""Which modules a loss reaches: whose parameters its backward deposits into, where the text proves it.

Names are followed to the assignments that reach them, and calls of the project's own functions into those. What is
detached, made under `no_grad`, handed to a function we cannot see through, or assigned on some paths only proves
nothing. The answer is a lower bound: silence is always right.
"""

from zerograd.source.text.patterns import pattern

_FREEZES = pattern(
    r"set_requires_grad|toggle_grad|toggle_optimizer|freeze|\.requires_grad\s*=|requires_grad_\((?!\)|True)|Revers|grad_reverse"
)
# One of these is in each of them. GradientReversal, ReverseLayer: what is left in others is meant for them.
_FROZEN = ("freeze", "toggle_", "requires_grad", "Revers", "grad_reverse")


def freezes(text: str) -> bool:
    """Whether parameters are frozen and thawed, or gradients reversed: then a loss does not tell whom it is for."""
    return any(word in text for word in _FROZEN) and _FREEZES.search(text) is not None
