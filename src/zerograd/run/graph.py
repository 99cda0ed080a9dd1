"""What the graph of a loss says before it is freed: which parameters it will fill, and which lie behind which.

A walk costs a few microseconds a node, so it is taken once for each line that runs a backward, and again when an
optimizer has come or gone.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from weakref import ref

from torch import Tensor
from torch.nn import Parameter

_MANY = 50_000  # nodes: a graph that large is not walked to its end, and then nothing is said about it
_LEAF = 2**63  # AccumulateGrad nodes have the largest sequence number there is


class Survey(NamedTuple):
    unowned: tuple[ref[Parameter], ...] = ()  # parameters that no known optimizer holds
    inputs: tuple[ref[Tensor], ...] = ()  # other leaves that no known optimizer holds: the loss is taken back to data
    behind: frozenset[tuple[int, int]] = (
        frozenset()
    )  # (a, b): the loss runs through parameters of a to reach those of b
    first: int = 0  # accounts, as bits, whose parameters meet data: what the loss runs through last
    oldest: int = 0  # the sequence number of the node that was made first
    whole: bool = False
    leads_somewhere: bool = True  # to a leaf
    owned: frozenset[int] = frozenset()  # the ids of the leaves that a known optimizer holds
    alone: int | None = None  # the account that holds every leaf, if there is such a one

    def reached(self) -> list[Tensor]:
        """The leaves that no known optimizer holds, as far as they live."""
        known: list[ref[Any]] = [*self.unowned, *self.inputs]
        return [one for reference in known if (one := reference()) is not None]


def newest(roots: Sequence[Tensor]) -> int:
    """The sequence number of the node that was made last."""
    return max((number_of(root.grad_fn) for root in roots), default=0)


def every_node(roots: Sequence[Tensor]) -> list[Any]:
    """Of the graph behind `roots`, but not what adds into its leaves: that lives as long as they do."""
    order = _ordered([root.grad_fn for root in roots if root.grad_fn is not None]) or []
    return [node for node in order if not hasattr(node, "variable")]


def survey(roots: Sequence[Tensor], owners: Mapping[int, int]) -> Survey:
    """Walk the graph behind `roots`. `owners`: the number of the account that holds each parameter, by its id."""
    order = _ordered([root.grad_fn for root in roots if isinstance(root, Tensor) and root.grad_fn is not None])
    if order is None:
        return Survey()
    reached: dict[Any, int] = {}  # the accounts that lie behind a node, as bits
    direct: dict[Any, int] = {}  # the account whose parameter feeds this node, and nothing else does
    unowned: dict[int, ref[Parameter]] = {}
    inputs: dict[int, ref[Tensor]] = {}
    owned: set[int] = set()
    behind: set[tuple[int, int]] = set()
    oldest, first = _LEAF, 0
    holders: set[int | None] = set()
    for node in order:  # children first
        variable = getattr(node, "variable", None)
        if variable is not None:
            number = owners.get(id(variable))
            holders.add(number)
            if number is None and isinstance(variable, Parameter):
                unowned[id(variable)] = ref(variable)
            elif number is None and isinstance(variable, Tensor):
                inputs[id(variable)] = ref(variable)
            elif number is not None:
                owned.add(id(variable))
            bit = 0 if number is None else 1 << number
            reached[node], direct[node] = bit, bit
            continue
        oldest = min(oldest, number_of(node))
        children = [child for child, _ in node.next_functions if child is not None]
        mask = 0
        for child in children:
            mask |= reached.get(child, 0)
        reached[node] = mask
        direct[node] = direct.get(children[0], 0) if len(children) == 1 else 0
        if len(children) < len(node.next_functions) and mask and mask & (mask - 1) == 0:
            first |= mask if all(direct.get(child, 0) for child in children) else 0
        if len(children) > 1 and mask & (mask - 1):
            _note_behind(children, reached, direct, behind)
    (alone,) = holders if len(holders) == 1 else (None,)
    return Survey(
        unowned=tuple(unowned.values()),
        inputs=tuple(inputs.values()),
        behind=frozenset(behind),
        first=first,
        oldest=oldest,
        whole=True,
        leads_somewhere=bool(holders),
        owned=frozenset(owned),
        alone=alone,
    )


def _note_behind(
    children: list[Any], reached: Mapping[Any, int], direct: Mapping[Any, int], behind: set[tuple[int, int]]
) -> None:
    for child in children:
        owner = direct.get(child, 0)
        if owner:
            for other in children:
                if other is not child and not direct.get(other, 0):
                    for number in _bits(reached.get(other, 0) & ~owner):
                        behind.add((owner.bit_length() - 1, number))


def _bits(mask: int) -> list[int]:
    return [number for number in range(mask.bit_length()) if mask >> number & 1]


def _ordered(starts: list[Any]) -> list[Any] | None:
    """Every node, those it leads to before it. None if there are too many."""
    seen, order = set(starts), []
    stack = [(node, iter(node.next_functions)) for node in dict.fromkeys(starts)]
    while stack:
        node, children = stack[-1]
        for child, _ in children:
            if child is not None and child not in seen:
                seen.add(child)
                stack.append((child, iter(child.next_functions)))
                break
        else:
            stack.pop()
            order.append(node)
        if len(seen) > _MANY:
            return None
    return order


def number_of(node: Any) -> int:
    """Nodes are numbered as they are made."""
    number = getattr(node, "_sequence_nr", None)
    return int(number()) if number is not None else 0
