"""Which row a qualified name has: its own, or that of the longest prefix."""

from functools import lru_cache

from zerograd.source.effects import frameworks, python, spelling, torch
from zerograd.source.effects.rows import Act, Row

_FUNCTIONS = {**python.FUNCTIONS, **frameworks.FUNCTIONS, **torch.FUNCTIONS}
_METHODS = {**torch.TENSOR, **torch.OPTIMIZER, **torch.MODULE, **frameworks.ENGINE}
_WORDS = tuple(f".{name}" for name, row in _METHODS.items() if row.act in (Act.DEPOSITS, Act.STEPS, Act.CLEARS))
_PREFIXES = {**python.PREFIXES, **frameworks.PREFIXES, **torch.PREFIXES}


# The methods that divide the loss scale out of gradients.
UPDATING = frozenset(name for name, row in torch.SCALER.items() if row.act is Act.UPDATES)
UNSCALING = frozenset(
    name for table in (torch.SCALER, frameworks.ACCELERATOR) for name, row in table.items() if row.act is Act.UNSCALES
)


# The keywords by which a new tensor is told to take a gradient.
ASKING = frozenset({spelling.REQUIRES_GRAD})


# The last names of what ends the program.
ENDING = frozenset(name.rpartition(".")[2] for name, row in _FUNCTIONS.items() if row.act is Act.ENDS)


def _spelled(*acts: Act) -> tuple[str, ...]:
    """The methods and functions that do one of these, as a text spells them."""
    methods = {**_METHODS, **torch.SCALER, **frameworks.ACCELERATOR, **frameworks.LIGHTNING}
    called = {name for name, row in methods.items() if row.act in acts}
    functions = {name.rpartition(".")[2] for name, row in _FUNCTIONS.items() if row.act in acts}
    # A function that has a method's name is imported by it: the `backward()` of an operator is defined, not imported.
    alone = {f"import {name}" if name in called else name for name in functions}
    return tuple(sorted(alone.union(f".{name}" for name in called)))


# What only a file that has to do with gradients spells: alone, and where it speaks of optimizers, too.
ACTING = (
    *_spelled(Act.DEPOSITS, Act.CLEARS, Act.UNSCALES, Act.MANUAL, Act.CLIPS, Act.CLIPS_ALL, Act.QUIETS),
    f"def {spelling.TRAINING_STEP}(",
)
ACTING_WITH_OPTIMIZERS = (*_spelled(Act.STEPS), *_spelled(Act.PARAMETERS))


# The last names of what reads things out of a file.
UNPICKLING = frozenset(name.rpartition(".")[2] for name, row in _FUNCTIONS.items() if row.act is Act.UNPICKLES)


@lru_cache(maxsize=4096)
def row_of(name: str) -> Row | None:
    """What calling this name does; None if no table knows it."""
    found = _FUNCTIONS.get(name)
    while found is None and name:
        found = _PREFIXES.get(name)
        name = name.rpartition(".")[0]
    return found


def inherited_method(base: str, name: str) -> Row | None:
    """What a method does that a class of the project inherits from this one, if a table has a row for it."""
    return _FUNCTIONS.get(f"{base}.{name}")


@lru_cache(maxsize=1024)
def is_module_base(name: str) -> bool:
    """Whether a class from outside is a network: what it makes has parameters."""
    return any(name == base or name.startswith(base + ".") for base in torch.MODULE_BASES)


def is_lightning(name: str) -> bool:
    """Whether a class from outside is trained by Lightning."""
    return name.partition(".")[0] in frameworks.LIGHTNING_PACKAGES and name.endswith(frameworks.LIGHTNING_MODULE)


def tensor_method(name: str) -> Row | None:
    """What a method of this name does, if it is a tensor's."""
    return torch.TENSOR.get(name)


def module_method(name: str) -> Row | None:
    return torch.MODULE.get(name)


def lightning_method(name: str) -> Row | None:
    return frameworks.LIGHTNING.get(name)


def optimizer_method(name: str) -> Row | None:
    return torch.OPTIMIZER.get(name)


def text_method(name: str) -> Row | None:
    return python.TEXT.get(name)


def container_method(name: str) -> Row | None:
    return python.CONTAINER.get(name)


def unbound_method(name: str) -> str:
    """The method that `torch.Tensor.detach` names, which is called with its receiver; else nothing."""
    before, _, last = name.rpartition(".")
    return last if before == "torch.Tensor" else ""


def is_of_autograd(name: str) -> bool:
    return name.startswith("torch.autograd")


def may_be_raised_by_backward(names: set[str]) -> bool:
    """Whether one of these exceptions, or what inherits from it, may come out of a backward pass."""
    return not names.isdisjoint(python.RAISED_BY_BACKWARD)


def names_training(text: str) -> bool:
    """Whether a text names a method that goes backward, steps or clears."""
    return any(word in text for word in _WORDS)
