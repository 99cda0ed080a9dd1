"""Whose loss it is, told by names: `g_loss`, `lossG` and `errG_fake` are `optimizerG`'s; so is the module `netG`."""

from collections.abc import Iterable

from zerograd.source.text.patterns import pattern

_WORDS = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PLAIN = frozenset(
    {"loss", "losses", "err", "error", "cost", "objective", "total", "train", "optimizer", "optimiser", "optim", "opt"}
    | {"optimizers", "net", "network", "model", "module", "adam", "sgd", "self"}
)


def named_for(name: str, others: Iterable[str]) -> str | None:
    """The one of the others that a name belongs to, if there is exactly one."""
    found = [other for other in others if is_of(name, other)]
    return found[0] if len(found) == 1 else None


def is_of(name: str, other: str) -> bool:
    """Whether every word of the other, but for those that all of them have, is in the name."""
    wanted, given = _stem(other), _stem(name)
    return bool(wanted) and all(any(_same(word, mine) for mine in given) for word in wanted)


def named_alike(one: str, other: str) -> bool:
    """Whether both have the same words, but for those that all have: discriminator, discriminator_optimizer."""
    return is_of(one, other) and is_of(other, one)


def is_plain(path: str) -> bool:
    """`optimizer`, `self.model`: it tells itself from no other."""
    return not _stem(path)


def _stem(path: str) -> set[str]:
    words = {word.lower() for word in _WORDS.findall(path.rpartition(".")[2])}
    return words - _PLAIN


def _same(one: str, other: str) -> bool:
    """`g`, `gen` and `generator`."""
    short, long = sorted((one, other), key=len)
    return short == long or (len(long) > 2 != len(short) and long.startswith(short))
