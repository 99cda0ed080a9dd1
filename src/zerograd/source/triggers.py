"""Whether a file is worth parsing: a look at its text, before anything heavy is imported."""

_WORDS = ("backward(", "zero_grad", "clip_grad_", "scheduler.step()")
_YIELDED = (".modules()", "yield ", ".parameters()")
_FAMILY = ("torch", "lightning", "accelerate", "ignite", "fairseq", "deepspeed")


def may_train(text: str) -> bool:
    """False only for a text that deposits, clears, clips and schedules nothing, and yields no parameters of modules to
    those who do; or has nothing to do with torch."""
    trains = any(word in text for word in _WORDS) or all(word in text for word in _YIELDED)
    return trains and (any(word in text for word in _FAMILY) or _may_be_given_torch(text))


def _may_be_given_torch(text: str) -> bool:
    """`from model import *` brings what model.py imports; only torch has a zero_grad()."""
    return " import *" in text and "zero_grad" in text


def may_allow(text: str) -> bool:
    """False only for a text that has no comment which is surely addressed to us."""
    return "zerograd:" in text or ("ZG" in text and "noqa" in text.lower())
