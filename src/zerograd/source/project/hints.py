"""The one table of words that a program chooses for itself: role words, for things that come from outside.

Read for given things alone, when their makers, their uses and elimination leave two kinds open. `def train(model,
loader, optimizer, scheduler)` is the commonest shape of real code: when exactly one optimizer and one scheduler are
named, that is which they are. Nothing else is ever made certain by a hint.
"""

from enum import Enum


class Role(Enum):
    OPTIMIZER = "optimizer"
    SCHEDULER = "scheduler"
    SCALER = "scaler"
    ACCELERATOR = "accelerator"
    MODULE = "module"


_WORDS = {
    Role.OPTIMIZER: "optimizer optimiser optim opt optimizers opts solver",
    Role.SCHEDULER: "scheduler sched schedule schedulers lr warmup",
    Role.SCALER: "scaler scalar amp",
    Role.ACCELERATOR: "accelerator fabric",
    Role.MODULE: "model net network module generator discriminator critic actor encoder decoder backbone",
}
WORDS: dict[str, Role] = {word: role for role, words in _WORDS.items() for word in words.split()}


def role_of(name: str) -> Role | None:
    """The role that a name's last telling word gives: `lr_scheduler` is a scheduler, `train_opt2` an optimizer."""
    for word in reversed(_words(name)):
        if word in WORDS:
            return WORDS[word]
    return None


def _words(name: str) -> list[str]:
    """The words of an identifier: split at underscores, digits and humps."""
    words: list[str] = []
    word = ""
    for before, letter in zip("_" + name, name, strict=False):
        hump = letter.isupper() and before.islower()
        if not letter.isalpha() or hump:
            words.append(word)
            word = ""
        if letter.isalpha():
            word += letter.lower()
    return [one for one in (*words, word) if one]
