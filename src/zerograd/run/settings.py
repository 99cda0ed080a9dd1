"""What the program has in its hands where it runs: its whole numbers, and the one that it calls accumulation.

Looked for among the names of a frame, and inside the program's own objects and dicts that have names there: `args`,
`config`, `self`, `self.args`.
"""

from collections.abc import Iterator
from types import FrameType

from zerograd.run.sites import names_in

_FOREIGN = ("builtins", "torch", "numpy", "zerograd")  # whose objects keep no settings of the program
_DEEP = 2
_MANY = 256  # entries of a dict that are looked through


def whole_numbers(frame: FrameType | None) -> dict[str, int]:
    """By name: `i`, `self.step`, `state.iteration`."""
    names = names_in(frame, lambda value: type(value) is int or _is_open(value))
    own = {name: value for name, value in names.items() if not name.startswith("__")}
    return {name: value for name, value in _inside(own, _DEEP) if type(value) is int}


def called_accumulation(frame: FrameType | None, size: int) -> str | None:
    """The name under which the program knows `size` as its accumulation, if it does."""
    if size < 2:
        return None
    numbers = whole_numbers(frame)
    return next((name for name, value in numbers.items() if value == size and "accum" in _last(name)), None)


def holders(frame: FrameType | None) -> dict[str, object]:
    """The program's own objects that have names here."""
    return names_in(frame, _is_open)


def _last(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _inside(names: dict[str, object], deep: int) -> Iterator[tuple[str, object]]:
    for name, value in names.items():
        yield name, value
        if deep and _is_open(value):
            yield from ((f"{name}.{key}", held) for key, held in _inside(entries(value), deep - 1))


def entries(value: object) -> dict[str, object]:
    """What a dict or an object of the program holds by name; of a class with what its instances start from."""
    if type(value) is dict:
        return {str(key): held for key, held in list(value.items())[:_MANY]}
    own: dict[str, object] = {key: held for key, held in vars(type(value)).items() if type(held) is int}
    return own | dict(getattr(value, "__dict__", {})) | _told(value)


def _told(value: object) -> dict[str, object]:
    """What Accelerate was told, which it keeps behind a property. Not at a loader's last batch: there it always steps.

    Nobody else's properties are asked: they may do whatever they like.
    """
    state = getattr(value, "gradient_state", None) if type(value).__module__.startswith("accelerate.") else None
    if state is None or state.end_of_dataloader:
        return {}
    name = "gradient_accumulation_steps"
    return {name: getattr(value, name, None)}


def _is_open(value: object) -> bool:
    """Whether this is a dict, or an object of the program's own with plain attributes."""
    if type(value) is dict:
        return True
    return type(value).__module__.partition(".")[0] not in _FOREIGN and hasattr(value, "__dict__")
