"""The law of the audit: whatever a program does to its gradients, nothing is certain that is not true.

Random loops write, clear, fill, replace, scale and step. Beside each loop runs the plain truth: which parts lie in each
slot, who has consumed them, and whether someone has laid a hand on them since. And the numbers stay the same, bitwise.
"""

import contextlib
from collections.abc import Callable

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.optim import Optimizer

import zerograd
from zerograd.core.findings import Finding

SIZE = 3
OWNED = {"sgd": (0, 1, 2), "adam": (0, 1)}  # the slots of each optimizer


class Part:
    """Something that was put into a slot."""

    def __init__(self) -> None:
        self.consumed: set[str] = set()
        self.edited: set[str] = set()  # by hand, after it was consumed by this one


class World:
    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.ParameterList(nn.Parameter(torch.randn(SIZE)) for _ in range(3))
        self.optimizers: dict[str, Optimizer] = {
            "sgd": torch.optim.SGD(list(self.model), lr=0.01, momentum=0.9),
            "adam": torch.optim.Adam(list(self.model)[:2], lr=0.01),
        }
        self.parts: list[list[Part]] = [[] for _ in range(3)]
        self.moved: dict[str, set[int]] = {name: set(slots) for name, slots in OWNED.items()}  # since its last step
        self.said: list[Finding] = []

    def held(self, slots: list[int]) -> list[torch.Tensor]:
        return [gradient for i in slots if (gradient := self.model[i].grad) is not None]

    # What a program does. `slots` says where.

    def backward(self, slots: list[int], factor: float = 1.0) -> None:
        sum((self.model[i] * torch.randn(SIZE) * factor).sum() for i in slots).backward()
        for i in slots:
            self.parts[i].append(Part())

    def clear(self, slots: list[int], by: Callable[[nn.Parameter], object]) -> None:
        for i in slots:
            by(self.model[i])
            self.parts[i] = []

    def fill(self, slots: list[int], by: Callable[[nn.Parameter], object]) -> None:
        for i in slots:
            by(self.model[i])
            self.parts[i] = [Part()]

    def scale(self, slots: list[int], *, seen: bool) -> None:
        for i in slots:
            if (gradient := self.model[i].grad) is not None:
                (gradient if seen else gradient.data).mul_(0.9)
                for name in OWNED:
                    # Unseen, on top of something fresh, it is what a GradScaler does: old stays old.
                    if seen or all(name in part.consumed for part in self.parts[i]):
                        for part in self.parts[i]:
                            part.edited.add(name)

    def move_weights(self, *, seen: bool) -> None:
        with torch.no_grad():
            for parameter in self.model:
                (parameter if seen else parameter.data).add_(1.0)
        self._moved([0, 1, 2])

    def _moved(self, slots: list[int], *, but: str = "") -> None:
        for name in self.moved:
            self.moved[name] = set() if name == but else self.moved[name] | (set(slots) & set(OWNED[name]))

    def replace(self, slot: int) -> None:
        old, new = self.model[slot], nn.Parameter(torch.randn(SIZE))
        self.model[slot] = new
        for optimizer in self.optimizers.values():
            for group in optimizer.param_groups:
                group["params"] = [new if parameter is old else parameter for parameter in group["params"]]
        self.parts[slot] = []
        self._moved([slot])

    def zero_grad(self, name: str, *, set_to_none: bool) -> None:
        self.optimizers[name].zero_grad(set_to_none=set_to_none)
        for i in OWNED[name]:
            self.parts[i] = []

    def step(self, name: str) -> set[str]:
        """Step, and return what was said of it and is not true."""
        parts = [self.parts[i] for i in OWNED[name]]
        old = [[part for part in slot if name in part.consumed and name not in part.edited] for slot in parts]
        new = [[part for part in slot if name not in part.consumed] for slot in parts]
        true = {
            "ZG001": any(stale and fresh for stale, fresh in zip(old, new, strict=True)),
            "ZG002": not any(parts),
            "ZG003": not any(parts),
            "ZG004": any(old) and not any(new) and not self.moved[name],
        }
        self.said.clear()
        self.optimizers[name].step()
        for part in (part for slot in parts for part in slot):
            part.consumed.add(name)
            part.edited.discard(name)
        self._moved([i for i in OWNED[name] if self.held([i])], but=name)
        return {finding.code for finding in self.said if not true.get(finding.code, True)}


def _zeros(p: nn.Parameter) -> None:
    p.grad = torch.zeros(SIZE)


def _none(p: nn.Parameter) -> None:
    p.grad = None


def _fresh(p: nn.Parameter) -> None:
    p.grad = torch.randn(SIZE)


Act = Callable[[World, list[int]], set[str] | None]
ACTS: dict[str, Act] = {
    "backward": lambda world, slots: world.backward([0, 1, 2]),
    "backward through some": lambda world, slots: world.backward(slots),
    "backward of nothing": lambda world, slots: world.backward([0, 1, 2], 0.0),
    "sgd.step": lambda world, slots: world.step("sgd"),
    "adam.step": lambda world, slots: world.step("adam"),
    "sgd.zero_grad": lambda world, slots: world.zero_grad("sgd", set_to_none=True),
    "sgd.zero_grad to zeros": lambda world, slots: world.zero_grad("sgd", set_to_none=False),
    "adam.zero_grad": lambda world, slots: world.zero_grad("adam", set_to_none=len(slots) > 1),
    "None": lambda world, slots: world.clear(slots, _none),
    "zero_": lambda world, slots: world.clear(slots, lambda p: p.grad is None or p.grad.zero_()),
    "data.zero_": lambda world, slots: world.clear(slots, lambda p: p.grad is None or p.grad.data.zero_()),
    "new zeros": lambda world, slots: world.clear(slots, _zeros),
    "new gradient": lambda world, slots: world.fill(slots, _fresh),
    "copy_": lambda world, slots: world.fill(
        [i for i in slots if world.held([i])], lambda p: p.grad.copy_(torch.randn(SIZE))
    ),
    "data.copy_": lambda world, slots: world.fill(
        [i for i in slots if world.held([i])], lambda p: p.grad.data.copy_(torch.randn(SIZE))
    ),
    "mul_": lambda world, slots: world.scale(slots, seen=True),
    "data.mul_": lambda world, slots: world.scale(slots, seen=False),
    "clip": lambda world, slots: (nn.utils.clip_grad_norm_([world.model[i] for i in slots], 0.1), None)[1],
    "weights": lambda world, slots: world.move_weights(seen=True),
    "data of weights": lambda world, slots: world.move_weights(seen=False),
    "replace": lambda world, slots: world.replace(slots[0]),
}
BODIES = st.lists(
    st.tuples(
        st.sampled_from([*ACTS, "backward", "backward", "sgd.step", "sgd.step", "adam.step", "sgd.zero_grad"]),
        st.lists(st.integers(0, 2), min_size=1, unique=True),
    ),
    min_size=2,
    max_size=7,
)


def _run(body: list[tuple[str, list[int]]], *, audited: bool) -> tuple[list[str], list[torch.Tensor]]:
    world, wrong = World(), []
    watch = zerograd.audit(on_finding=world.said.append) if audited else None
    with watch or contextlib.nullcontext():
        for name, slots in body * 4:
            if watch is not None:
                watch.restart()  # a finding is said once for each place, and here all steps are one place
            untrue = ACTS[name](world, slots)
            wrong += [f"{name}: {code}" for code in sorted(untrue or ())]
    left = [parameter.detach() for parameter in world.model]
    return wrong, [*left, *world.held([0, 1, 2])]


@settings(max_examples=150, deadline=None)
@given(BODIES)
def test_what_is_certain_is_true_and_no_number_changes(body: list[tuple[str, list[int]]]) -> None:
    wrong, audited = _run(body, audited=True)
    assert wrong == []
    _, alone = _run(body, audited=False)
    assert len(audited) == len(alone)
    assert all(torch.equal(one, other) for one, other in zip(audited, alone, strict=True))
