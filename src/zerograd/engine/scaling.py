"""A torch.amp.GradScaler in a Step.

One block has one scale, read when it is entered. The commit divides by it, together with the weights, and tells the
scaler once, for all optimizers, whether the gradients were finite. GradScaler.unscale_ and .step are not used: they
would divide a second time, and wait for the device once per optimizer.
"""

import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from operator import attrgetter

import torch
from torch import Tensor
from torch.amp.grad_scaler import GradScaler, OptState
from torch.autograd.graph import Node
from torch.optim import Optimizer

from zerograd.engine import refusals
from zerograd.engine.weighing import Number


class Scaling:
    def __init__(self, scaler: GradScaler, optimizers: Sequence[Optimizer]) -> None:
        self.scaler = scaler
        self.optimizer = optimizers[0]  # in whose name the scaler is told
        self._ids = [id(optimizer) for optimizer in optimizers]
        self.round = _rounds.setdefault(scaler, _Round())
        self._one: Tensor | None = None
        self.found: Tensor

    def read(self, device: torch.device) -> Tensor:
        """The scale, as a tensor on the device: to know it as a number would be to wait for it."""
        if self._one is None or self._one.device != device:
            self._one = torch.ones((), dtype=torch.float32, device=device)
        scale = self.scaler._scale
        if scale is not None and type(self.scaler).scale is GradScaler.scale:
            return scale.clone() if scale.device == device else scale.to(device)
        try:
            return self.scaler.scale(self._one)
        except BaseException:
            if self.scaler._growth_tracker is None:  # torch makes the two one after the other, when they are first used
                self.scaler._scale = None
            raise

    def refuse_by_hand(self) -> None:
        """unscale_() divides without a trace in the version counters: only the scaler itself remembers it."""
        states = self.scaler._per_optimizer_states
        for optimizer in self._ids:
            if optimizer in states and states[optimizer]["stage"] is not OptState.READY:
                raise refusals.unscaled_inside()

    def refuse_scaled(self, loss: Tensor, *, recorded: bool) -> None:
        """scaler.scale() was written by hand: the update would be tens of thousands of times too large."""
        scale, root = self.scaler._scale, loss.grad_fn
        if scale is None or root is None or not _is_linear(root.name()):
            return
        if any(_is_scale(factor, scale, recorded=recorded) for factor in _factors(loss)):
            raise refusals.scaled_by_hand()

    def tell(self, found: Tensor) -> None:
        """What update() will act on. torch 2.13 amp/grad_scaler.py: found_inf is exactly 0.0 or 1.0."""
        self.found = found
        self.scaler._per_optimizer_states[self._ids[0]]["found_inf_per_device"] = {found.device: found}

    def forget(self) -> None:
        """Drop what was done by hand to our optimizers: else the next step would pass for unscaled already."""
        for optimizer in self._ids:
            self.scaler._per_optimizer_states.pop(optimizer, None)

    def is_exhausted(self) -> bool:
        """No loss scale is left to lower: it is not the scale that makes the gradients infinite."""
        return self.scaler.get_scale() <= 1.0


def raised_by_update(error: BaseException) -> bool:
    """Whether GradScaler.update() found nothing to go by: inside a block nobody has told it anything yet."""
    trace = error.__traceback__ if isinstance(error, AssertionError) else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code is GradScaler.update.__code__


def updates(scalings: Sequence[Scaling], *, recorded: bool) -> list[Callable[[], object]]:
    """What updates each scaler once, however many Steps end together; `recorded`: as part of a captured step."""
    if len(scalings) == 1 and not recorded:
        return scalings[0].round.acts(scalings[0].scaler, scalings)
    acts: list[Callable[[], object]] = []
    for scaler in {id(scaling.scaler): scaling.scaler for scaling in scalings}.values():
        if recorded:
            acts.append(scaler.update)
        else:
            mine = [one for one in scalings if one.scaler is scaler]
            acts += mine[0].round.acts(scaler, mine)
    return acts


class _Round:
    """[Note: rounds] Steps that share a scaler and end one after the other, D and then G, are one iteration of the loop
    by hand, which calls update() once, for all of them. A round is over when one of them comes a second time, or when
    somebody else has changed the scale. Each that ends in it updates the scale anew from where the round began, with
    what all of them have found: so nobody has to know who comes last.
    """

    def __init__(self) -> None:
        self._found: list[tuple[weakref.ref[Optimizer], Number]] = []
        self._before: tuple[Number, Number] | None = None  # scale and growth tracker when it began
        self._version: deque[int] = deque([-1], maxlen=1)  # of the scale, when it was last updated

    def acts(self, scaler: GradScaler, scalings: Sequence[Scaling]) -> list[Callable[[], object]]:
        """As parts of a move: none of our own lines may lie between them. See [Note: one decision]."""
        scale, tracker = scaler._scale, scaler._growth_tracker
        assert scale is not None
        assert tracker is not None
        earlier, before = self._found, self._before
        again = False
        for ref, _ in earlier:
            for one in scalings:
                again |= ref() is one.optimizer
        acts: list[Callable[[], object]] = []
        if before is None or again or scale._version != self._version[0]:
            earlier, before = [], (_number(scale), _number(tracker))
        else:
            acts += [partial(scale.fill_, before[0]), partial(tracker.fill_, before[1])]
        for place, (_, number) in enumerate(earlier):
            found = number.clone() if isinstance(number, Tensor) else torch.full((), number, dtype=torch.float32)
            scaler._per_optimizer_states[-1 - place]["found_inf_per_device"] = {found.device: found}
        found_now = [*earlier, *[(weakref.ref(one.optimizer), _number(one.found)) for one in scalings]]
        # Lazily: the version is read when the update is over.
        version = partial(self._version.extend, map(_version, (scale,)))
        return [*acts, scaler.update, version, partial(vars(self).update, _found=found_now, _before=before)]


def _number(tensor: Tensor) -> Number:
    """What it is now; as a copy where to know the number would be to wait for it."""
    return tensor.item() if tensor.is_cpu else tensor.clone()


_version = attrgetter("_version")
_rounds: weakref.WeakKeyDictionary[GradScaler, _Round] = weakref.WeakKeyDictionary()

_LARGE = 256.0  # who multiplies by a constant as large as that, and just as large as the scale, means the scale

# Nodes whose result is as many times too large as what they are given. Behind any other, a scale means something else:
# the gradient penalty of torch's own recipe is computed from scaled gradients, and divided by the scale.
_LINEAR = frozenset(
    {
        *("Add", "Sub", "Rsub", "Mul", "Div", "Neg", "Dot", "Sum", "Mean", "Cumsum", "Clone", "ToCopy", "Alias", "Max"),
        *(
            "Stack",
            "Cat",
            "Unbind",
            "Split",
            "Select",
            "Slice",
            "Index",
            "IndexSelect",
            "Gather",
            "Where",
            "MaskedFill",
        ),
        *("View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze", "Expand", "Permute", "T", "Transpose"),
        *("Min", "Maximum", "Minimum", "Clamp", "ClampMin", "ClampMax", "MaskedSelect", "Copy", "CopyBackwards"),
        *("CopySlices", "BackwardHookFunction", "Repeat", "Flip", "NanToNum", "Addcmul", "Lerp"),
    }
)


@cache
def _is_linear(kind: str) -> bool:
    return kind.rstrip("0123456789").removesuffix("Backward") in _LINEAR


def _factors(loss: Tensor) -> Iterator[Tensor]:
    """What the loss, or a term of it, was multiplied by."""
    nodes = [loss.grad_fn]
    seen = {None, *nodes}
    for node in nodes:
        kind = "" if node is None else node.name()
        if node is not None and _is_linear(kind):
            if kind.startswith("Mul"):
                yield from _other(node)
            nodes += [following for following, _ in node.next_functions if following not in seen]
            seen.update(following for following, _ in node.next_functions)


def _other(multiplication: Node) -> Iterator[Tensor]:
    try:
        factor = getattr(multiplication, "_saved_other", None)
    except RuntimeError:  # freed by an earlier backward, which would have been refused
        return
    if type(factor) is Tensor:
        yield factor


def _is_scale(factor: Tensor, scale: Tensor, *, recorded: bool) -> bool:
    """The scale itself, or the copy that scaler.scale([a, b]) multiplies by: that one only its value tells."""
    if factor.data_ptr() == scale.data_ptr() and factor.device == scale.device:
        return True
    if recorded or factor.dim() or factor.dtype is not scale.dtype or factor.requires_grad:
        return False
    value = float(factor)
    return value >= _LARGE and value == float(scale)
