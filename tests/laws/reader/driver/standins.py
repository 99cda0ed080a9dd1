"""Things that fit wherever a program puts them, and carry gradients as real ones do.

A `Pliable` is a tensor. Where shapes or types do not fit, the operation gives a tensor made of everything it was
handed, so that gradients flow where they would flow in the real program; what autograd itself refuses stays refused.
It can also be called, unpacked, indexed by words and asked for attributes: what comes out is made of what went in.
"""

import dis
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

import torch
from torch import Tensor, nn

WIDTH, BATCH, BATCHES = 4, 8, 4
_COMPARISONS = {"lt", "gt", "le", "ge", "eq", "ne", "isclose", "logical_and", "logical_or", "argmax", "argmin", "sign"}
_AUTOGRAD = ("grad", "graph", "leaf", "modified by an inplace")
_SHAPES = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AttributeError)


bent: list[str] = []  # the operations of this run whose arguments did not fit


def made_of(things: Iterable[object], *, shape: tuple[int, ...] = ()) -> "Pliable":
    """A tensor that depends on every floating tensor among `things`, as deep as containers hold them."""
    parts = [one for one in tensors(things) if one.is_floating_point() and one.numel()]
    value: Tensor = torch.ones(shape)
    with torch._C.DisableTorchFunctionSubclass():
        for part in parts:
            value = value + 0.1 * torch.tanh(part.float().mean())
    return value.as_subclass(Pliable)


def tensors(things: object, depth: int = 3) -> Iterator[Tensor]:
    if isinstance(things, Tensor):
        yield things
    elif isinstance(things, nn.Module):
        yield from things.parameters()
    elif depth and isinstance(things, dict):
        yield from tensors(list(things.values()), depth - 1)
    elif depth and isinstance(things, list | tuple | set):
        for one in things:
            yield from tensors(one, depth - 1)


class Pliable(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        try:
            return super().__torch_function__(func, types, args, kwargs)
        except _SHAPES as error:
            told = str(error).lower()
            if any(word in told for word in _AUTOGRAD) or func is Tensor.backward:
                raise
            if func in (Tensor.item, Tensor.__float__):
                return 0.5
            bent.append(getattr(func, "__name__", ""))
            made = made_of([args, kwargs], shape=_shape(args))
            return made.detach() if bent[-1].strip("_") in _COMPARISONS else made

    def backward(
        self, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None, **old: Any
    ) -> None:
        whole = self if self.numel() == 1 or gradient is not None else self.sum()
        Tensor.backward(whole, gradient, retain_graph, create_graph, inputs)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if len(args) == 1 and isinstance(args[0], FunctionType | type) and not kwargs:
            return args[0]  # it decorates
        return made_of([self, args, kwargs])

    def parameters(self) -> list[nn.Parameter]:
        if not hasattr(self, "_parameters"):
            self._parameters = [nn.Parameter(torch.rand(WIDTH))]
        return self._parameters

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        from laws.reader.driver.roles import by_name

        return by_name(name, source=self)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return made_of([self], shape=(BATCH, WIDTH))
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[Any]:
        wanted = unpacked_into()
        if wanted is None and self.dim() and self.shape[0] <= BATCHES * 2:
            return super().__iter__()
        return iter([made_of([self], shape=(BATCH, WIDTH)) for _ in range(wanted or 2)])

    def __len__(self) -> int:
        return self.shape[0] if self.dim() else BATCHES

    def __bool__(self) -> bool:
        return self.numel() != 1 or bool(torch.Tensor.item(self.detach()))

    def __index__(self) -> int:
        return 2

    def __int__(self) -> int:
        return 2

    def __contains__(self, item: object) -> bool:
        return isinstance(item, str)

    def __format__(self, spec: str) -> str:
        return "0.5"

    def __hash__(self) -> int:
        return id(self)

    def __enter__(self) -> "Pliable":
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def __next__(self) -> "Pliable":
        return made_of([self], shape=(BATCH, WIDTH))

    def keys(self) -> list[str]:
        return ["x", "y"]

    def values(self) -> list["Pliable"]:
        return [made_of([self], shape=(BATCH, WIDTH)) for _ in self.keys()]

    def items(self) -> list[tuple[str, "Pliable"]]:
        return list(zip(self.keys(), self.values(), strict=True))


def _shape(args: object) -> tuple[int, ...]:
    first = next(tensors(args), None)
    return tuple(first.shape) if first is not None and 0 < first.dim() <= 2 else ()


def sample() -> Pliable:
    return torch.rand(BATCH, WIDTH).as_subclass(Pliable)


class Net(nn.Module):
    """A network that takes anything and gives a batch; its parts are networks too."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)
        self.last = nn.Linear(WIDTH, WIDTH)

    def forward(self, *args: object, **kwargs: object) -> Any:
        given = made_of([args, kwargs], shape=(BATCH, WIDTH))
        return self.last(torch.relu(self.first(given))).as_subclass(Pliable)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("_"):
                raise
        from laws.reader.driver.roles import part_of_network

        part = part_of_network(name, self)
        setattr(self, name, part)
        return part

    def __getitem__(self, key: object) -> Any:
        if isinstance(key, str):
            return getattr(self, key)
        return self.first if key == 0 else self.last

    def __iter__(self) -> Iterator[nn.Module]:
        return iter([Net() for _ in range(unpacked_into() or 2)])

    def __len__(self) -> int:
        return 2


class Loader:
    """A few batches, gone through as often as one likes, by whatever way."""

    def __init__(self) -> None:
        self._left = 0
        self.batch_size = BATCH

    def __iter__(self) -> Iterator[Any]:
        wanted = unpacked_into()
        return iter([Loader() for _ in range(wanted)] if wanted else [sample() for _ in range(BATCHES)])

    def __next__(self) -> Pliable:
        self._left += 1
        if self._left % (2 * BATCHES) == 0:
            raise StopIteration
        return sample()

    def __len__(self) -> int:
        return BATCHES

    def __getitem__(self, key: object) -> Any:
        return Loader() if isinstance(key, str) else sample()

    def __call__(self, *args: object, **kwargs: object) -> "Loader":
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        from laws.reader.driver.roles import by_name

        return by_name(name, source=None)


class Engine(nn.Module):
    """What trains for others: Accelerator, Fabric, a DeepSpeed engine. It deposits what it is handed and steps what
    it has."""

    sync_gradients = True
    is_main_process = is_local_main_process = True

    def __init__(self, optimizer: torch.optim.Optimizer | None = None, **settings: object) -> None:
        super().__init__()
        self.net = Net()
        self.optimizer = optimizer or torch.optim.SGD(self.net.parameters(), lr=0.01)
        self.device = "cpu"

    def forward(self, *args: object, **kwargs: object) -> Any:
        return self.net(*args, **kwargs)

    def backward(self, loss: Tensor, **options: object) -> None:
        loss.backward()

    def step(self, *args: object) -> None:
        self.optimizer.step()
        self.optimizer.zero_grad()

    def prepare(self, *things: object) -> object:
        return things if len(things) > 1 else things[0]

    setup = prepare
    setup_dataloaders = setup_module = setup_optimizers = unwrap_model = gather = reduce = prepare

    @contextmanager
    def accumulate(self, *models: object) -> Iterator[None]:
        yield

    autocast = no_sync = no_backward_sync = accumulate

    def clip_grad_norm_(self, parameters: Any, max_norm: float, norm_type: float = 2.0) -> Tensor:
        return nn.utils.clip_grad_norm_(parameters, max_norm)

    def clip_gradients(self, module: nn.Module, optimizer: object, **how: object) -> None:
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("_"):
                raise
        return lambda *args, **kwargs: made_of([args, kwargs])


class Settings:
    """args, config, hparams: each setting as its name asks for."""

    def __init__(self, **known: object) -> None:
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        from laws.reader.driver.roles import setting

        value = setting(name)
        setattr(self, name, value)
        return value

    def __getitem__(self, name: Any) -> Any:
        return getattr(self, name) if isinstance(name, str) else sample()

    def __setitem__(self, name: str, value: object) -> None:
        setattr(self, name, value)

    def __contains__(self, name: object) -> bool:
        return True

    def __call__(self, *args: object, **kwargs: object) -> "Settings":
        return self

    def get(self, name: str, default: object = None) -> Any:
        return getattr(self, name)

    def items(self) -> list[tuple[str, object]]:
        return list(self.__dict__.items())

    def keys(self) -> list[str]:
        return list(self.__dict__)


def unpacked_into() -> int | None:
    """Into how many names the program unpacks what is being iterated over now; None if it does not unpack it."""
    frame = sys._getframe(2)
    name, count = _instructions(frame.f_code).get(frame.f_lasti, ("", 0))
    if name == "UNPACK_SEQUENCE":
        return count
    return (count & 0xFF) + (count >> 8) + 1 if name == "UNPACK_EX" else None


@lru_cache(maxsize=512)
def _instructions(code: CodeType) -> dict[int, tuple[str, int]]:
    return {one.offset: (one.opname, one.arg or 0) for one in dis.get_instructions(code) if "UNPACK" in one.opname}
