"""Whether a file is worth parsing: a look at its text, before anything heavy is imported."""

import re

from zerograd.source.text.patterns import pattern

_YIELDED = (".modules()", "yield ")
_FAMILY = ("lightning", "accelerate", "ignite", "fairseq", "deepspeed")
_FRAMEWORK = pattern(
    r"^[ \t>]*(?:import|from)[ \t][^\n]*(?:lightning|accelerate|ignite|fairseq|deepspeed)", re.MULTILINE
)
_UPDATES = ("optim", "epoch", "learning_rate", "retain_graph", "sgd", "no_sync")  # words are faster than patterns
_STEPS, _RATE = pattern(r"step\w*\("), pattern(r"lr\b(?<!\wlr)")
_GRADIENT = pattern(r"\.grad\b(?!\()")
_CHANGES = pattern(r"-=|\.data ?[-+]?= |\.(add|sub|copy|zero)_\(|\.sign\(\)|\.grad = None|[*/] ?\w+\.grad|\.grad ?[*/]")
_HELD = pattern(r"ptim[^\n]{0,120}?\b(\w+)\.parameters\(\)")
_MADE = pattern(r"^[ \t\"]*(\w+)(?:\.[\w.]+)? = ([^\n]{0,120}?\b[A-Z]\w*\([^\n]{0,200})", re.MULTILINE)

# A word first, and what stands before it later: that is what makes a search fast.
_OPTIMIZER = pattern(r"opt(\w*) = [^\n]*(?:optim\b|Adam|SGD)")
_BEFORE = pattern(r"\w*\Z")
_LONGEST = 80  # letters of a name
_ROUNDS = pattern(r"^[ \t]*(?:for \w*ep\w* in|while) ", re.MULTILINE)
_LEAF = pattern(r"(?:ensor|Variable)\((?!torch\.(?:zeros|ones|rand|empty))[a-z_][^\n]*requires_grad=True")
_LOSS = pattern(r"^class \w*Loss\w*\(", re.MULTILINE)
_SHOWN = pattern(r"^[ \t]*(?:>>>|\.\.\.) .*", re.MULTILINE)  # in a docstring: such lines are no Python
_LISTS = pattern(r"self\.\w+(?:\[[^\]\n]*\])?(?:\.(?:append|update|add)\(| \+= )[^\n]*loss")


def may_train(text: str) -> bool:
    """False only for a text that deposits to no end, clears, clips and schedules nothing, and has no parameters for
    those who do; or has nothing to do with torch."""
    if not _trains(text):
        return False
    if ">>> " in text and not _does_more(_SHOWN.sub("", text)):
        return False  # a layer, and how one would train it
    return "torch" in text or _has_framework(text) or _may_be_given_torch(text)


def _trains(text: str) -> bool:
    return (
        ("_grad" in text and ("zero_grad" in text or "clip_grad_" in text))
        or "scheduler.step()" in text
        or _may_deposit(text)
        or (".parameters()" in text and (_may_hand_out(text) or _may_hand_over(text)))
        or may_cut_losses(text)
        or ("def training_step(" in text and (_LISTS.search(text) is not None or _hands_nothing_back(text)))
    )


def may_cut_losses(text: str) -> bool:
    """Whether something is made a leaf that was computed, or a module that is named for a loss may cut off all it has:
    a loss function stands in a file of its own, and nothing is trained there."""
    if "requires_grad=True" in text and ("loss" in text or "Loss" in text) and _LEAF.search(text) is not None:
        return True
    return "Loss(" in text and (").detach()" in text or "no_grad()" in text) and _LOSS.search(text) is not None


def _hands_nothing_back(text: str) -> bool:
    """Whether a training_step() of Lightning's, which is to return the loss, returns nothing."""
    step = text.partition("def training_step(")[2].partition("\n    def ")[0]
    return "return " not in step


def _does_more(text: str) -> bool:
    """What it shows aside: an optimizer that wraps another, and has no backward() but in its examples, steps."""
    return ".step(" in text or ".grad" in text or _trains(text)


def _may_deposit(text: str) -> bool:
    """Whether it goes backward, and somebody updates something with what that leaves behind: the operators that define
    a backward() of their own, and the tests that only look at gradients, do not."""
    if "backward(" not in text and ".backward" not in text:  # the method may be bound to a name, and called by it
        return False
    if "optim" in text:
        return True  # nearly always
    small = text.lower()
    return (
        any(word in small for word in _UPDATES)
        or _STEPS.search(small) is not None
        or ("lr" in small and _RATE.search(small) is not None)
        or (_GRADIENT.search(text) is not None and _CHANGES.search(text) is not None)
    )


def _may_hand_out(text: str) -> bool:
    """Whether it yields parameters of modules, or makes an optimizer of a model that is given others afterwards."""
    return all(word in text for word in _YIELDED) or may_replace(text)


def _may_hand_over(text: str) -> bool:
    """Whether it makes an optimizer and hands it to somebody in a loop: what that one does again and again, and what
    nobody does in between, only this file tells."""
    made = _OPTIMIZER.search(text)
    if made is None or _ROUNDS.search(text, made.end()) is None:
        return False
    before = _BEFORE.search(text, max(0, made.start() - _LONGEST), made.start())
    name = f"{before[0] if before is not None else ''}opt{made[1]}"
    return re.compile(rf"[(,] *(?:\w+=)?{name}\b").search(text, made.end()) is not None


def may_replace(text: str) -> bool:
    """optimizer = Adam(model.parameters()), and further below model.head = nn.Linear(8, 2)"""
    held: dict[str, int] = {}
    for found in _HELD.finditer(text):
        held.setdefault(found[1], found.end())
    if not held:
        return False
    made = _MADE.finditer(text, min(held.values()))
    # What is made of the model itself, model = DistributedDataParallel(model), has its parameters.
    return any(found.start() > held.get(found[1], len(text)) and f"({found[1]}" not in found[2] for found in made)


def _has_framework(text: str) -> bool:
    """Whether something is imported that brings torch along; an address on the web may have such a word as well."""
    return any(word in text for word in _FAMILY) and _FRAMEWORK.search(text) is not None


def _may_be_given_torch(text: str) -> bool:
    """`from model import *` brings what model.py imports; only torch has a zero_grad()."""
    return " import *" in text and "zero_grad" in text


def may_allow(text: str) -> bool:
    """False only for a text that has no comment which is surely addressed to us."""
    # One rare letter is found ten times as fast as two.
    return "zerograd:" in text or ("Z" in text and "ZG" in text and "noqa" in text.lower())
