"""Hidden state goes from block to block without its graph; what a failed block made of it is forgotten."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

from engine.nets import weights
from zerograd import Step, StepError
from zerograd.engine.carrying import detach

CHUNKS = list(torch.randn(5, 2, 3, 4, generator=torch.Generator().manual_seed(0)))  # batch 2, time 3


class Pair(NamedTuple):
    h: torch.Tensor
    c: object


def _rnn() -> nn.LSTM:
    torch.manual_seed(0)
    return nn.LSTM(4, 4, batch_first=True)


def _train(skipped: set[int], how: str) -> torch.Tensor:
    """Chunks in `skipped` fail on the way ("left out": are not there at all)."""
    rnn = _rnn()
    step = Step(torch.optim.SGD(rnn.parameters(), lr=0.5))
    h = None
    for number, chunk in enumerate(CHUNKS):
        if how == "left out" and number in skipped:
            continue
        try:
            with step:
                out, h = rnn(chunk, step.carry(h))
                step.backward(out.square().mean() * (float("nan") if how == "nan" and number in skipped else 1.0))
                if number in skipped and how == "raise":
                    raise ZeroDivisionError
                if number in skipped and how == "abort":
                    step.abort()
        except ZeroDivisionError:
            pass
    return weights(rnn)


@pytest.mark.filterwarnings("ignore:zerograd skipped")
@pytest.mark.parametrize("how", ["raise", "abort", "nan"])
@pytest.mark.parametrize("skipped", [{0}, {2}, {1, 2}, {0, 1, 4}])
def test_a_chunk_that_fails_is_as_if_it_had_not_been(skipped: set[int], how: str) -> None:
    assert torch.equal(_train(skipped, how), _train(skipped, "left out"))


class Cells(nn.Module):
    """Two layers, and an encoder that makes the first state of a sequence."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList([nn.GRUCell(4, 4), nn.GRUCell(4, 4)])
        self.encoder = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, states: list[torch.Tensor]) -> list[torch.Tensor]:
        return [layer(x, state) for layer, state in zip(self.layers, states, strict=True)]


Run = Callable[[Cells, Step, torch.Tensor, Any], tuple[torch.Tensor, Any]]


def _two_sites(cells: Cells, step: Step, chunk: torch.Tensor, states: Any) -> tuple[torch.Tensor, Any]:
    one, two = states or (torch.zeros(2, 4), torch.zeros(2, 4))
    one = step.carry(one)
    two = step.carry(two)
    for x in chunk.unbind(1):
        one, two = cells(x, [one, two])
    return one.square().mean() + two.square().mean(), (one, two)


def _in_one_breath(cells: Cells, step: Step, chunk: torch.Tensor, states: Any) -> tuple[torch.Tensor, Any]:
    states = [step.carry(state) for state in states or (torch.zeros(2, 4), torch.ones(2, 4))]
    for x in chunk.unbind(1):
        states = cells(x, states)
    return sum(state.square().mean() for state in states), states


def _layer_by_layer(cells: Cells, step: Step, chunk: torch.Tensor, states: Any) -> tuple[torch.Tensor, Any]:
    states = list(states or (torch.zeros(2, 4), torch.ones(2, 4)))
    for place, layer in enumerate(cells.layers):
        states[place] = layer(chunk[:, 0], step.carry(states[place]))
    return sum(state.square().mean() for state in states), states


def _as_a_dict(cells: Cells, step: Step, chunk: torch.Tensor, states: Any) -> tuple[torch.Tensor, Any]:
    states = step.carry(states or {"one": torch.zeros(2, 4), "two": Pair(torch.ones(2, 4), None)})
    one, two = cells(chunk[:, 0], [states["one"], states["two"].h])
    return one.square().mean() + two.square().mean(), {"one": one, "two": Pair(two, None)}


def _chunk_by_chunk(cells: Cells, step: Step, chunk: torch.Tensor, states: Any) -> tuple[torch.Tensor, Any]:
    loss = torch.zeros(())
    for x in chunk.unbind(1):
        states = cells(x, [step.carry(state) for state in states or (torch.zeros(2, 4), torch.ones(2, 4))])
        loss = loss + sum(state.square().mean() for state in states)
    return loss, states


def _changed_in_place(cells: Cells, step: Step, chunk: torch.Tensor, states: Any) -> tuple[torch.Tensor, Any]:
    state = step.carry(torch.ones(2, 4) if states is None else states)
    state.mul_(0.5)
    made = cells.layers[0](chunk[:, 0], state)
    return made.square().mean(), made


def _encoded_first(cells: Cells, step: Step, chunk: torch.Tensor, states: Any) -> tuple[torch.Tensor, Any]:
    state = step.carry(cells.encoder(chunk[:, 1]) if states is None else states)
    made = cells.layers[0](chunk[:, 0], state)
    return made.square().mean(), made


RUNS = [_two_sites, _in_one_breath, _layer_by_layer, _as_a_dict, _chunk_by_chunk, _changed_in_place, _encoded_first]


def _train_cells(run: Run, skipped: set[int], how: str, sequences: int) -> torch.Tensor:
    """Chunks of so many sequences, in turn; what fails is as if it had not been."""
    cells = Cells()
    step = Step(torch.optim.SGD(cells.parameters(), lr=0.5), max_skips=9)
    states: list[Any] = [None] * sequences
    for number, chunk in enumerate([*CHUNKS, *CHUNKS]):
        if how == "left out" and number in skipped:
            continue
        try:
            with step:
                loss, made = run(cells, step, chunk, states[number % sequences])
                if not (number in skipped and how == "early"):
                    states[number % sequences] = made
                step.backward(loss * (float("nan") if how == "nan" and number in skipped else 1.0))
                if number in skipped and how in ("raise", "early"):
                    raise ZeroDivisionError
        except ZeroDivisionError:
            pass
    return weights(cells)


@pytest.mark.filterwarnings("ignore:zerograd skipped")
@pytest.mark.parametrize("sequences", [1, 2])
@pytest.mark.parametrize("how", ["raise", "early", "nan"])
@pytest.mark.parametrize("run", RUNS, ids=[run.__name__.strip("_") for run in RUNS])
def test_every_state_of_a_block_that_fails_is_put_back(run: Run, how: str, sequences: int) -> None:
    for skipped in ({2}, {2, 3}, {3, 5}, {2, 4, 6}):
        expected = _train_cells(run, skipped, "left out", sequences)
        assert torch.equal(_train_cells(run, skipped, how, sequences), expected), skipped


@pytest.mark.filterwarnings("ignore:zerograd skipped")
def test_a_new_sequence_is_never_given_the_state_of_the_old_one() -> None:
    cells = Cells()
    step = Step(torch.optim.SGD(cells.parameters(), lr=0.5))
    early = cells.encoder(CHUNKS[3][:, 0])  # made before the block that fails
    constant = torch.full((2, 4), 0.25)
    learned = nn.Parameter(torch.full((2, 4), 0.75))

    def fail() -> torch.Tensor:
        with step:
            made = cells.layers[0](CHUNKS[0][:, 0], step.carry(torch.zeros(2, 4)))
            step.backward(made.sum() * float("nan"))
        return made

    for begin in (lambda: early, lambda: constant, lambda: learned, lambda: cells.encoder(CHUNKS[1][:, 0])):
        fail()
        with step:
            first = begin()
            assert torch.equal(step.carry(first), first)
            step.abort()
    with step:
        states = cells(CHUNKS[0][:, 0], step.carry([torch.zeros(2, 4), torch.ones(2, 4)]))
        step.backward(states[0].sum() * float("nan"))
    with step:  # one of two goes on, the other begins anew
        on, anew = step.carry([states[0], constant])
        assert torch.equal(on, torch.zeros(2, 4))
        assert torch.equal(anew, constant)
        step.abort()


def test_where_nobody_can_tell_which_state_it_was_the_step_says_so() -> None:
    cells = Cells()
    step = Step(torch.optim.SGD(cells.parameters(), lr=0.5))
    with pytest.raises(ZeroDivisionError), step:
        states = cells(CHUNKS[0][:, 0], [step.carry(state) for state in (torch.zeros(2, 4), torch.ones(2, 4))])
        raise ZeroDivisionError
    with pytest.raises(StepError, match="from which of 2 states"), step:
        step.carry(states[1])
    with step:  # where nothing has to be put back, nobody asks
        states = cells(CHUNKS[0][:, 0], [step.carry(state) for state in (torch.zeros(2, 4), torch.ones(2, 4))])
        step.backward(cells.layers[0](CHUNKS[0][:, 1], step.carry(states[1])).sum())
    assert step.outcome.moved


def test_whoever_begins_afresh_is_not_given_the_old_state() -> None:
    rnn = _rnn()
    step = Step(torch.optim.SGD(rnn.parameters(), lr=0.5))
    with step:
        _, h = rnn(CHUNKS[0], step.carry(None))
        step.backward(h[0].sum())
    with pytest.raises(ZeroDivisionError), step:
        step.carry(h)
        raise ZeroDivisionError
    with step:
        assert step.carry(None) is None
        step.abort()
    with pytest.raises(StepError, match=r"carry\(\) outside"):
        step.carry(h)


def test_structures() -> None:
    x = torch.ones(2, requires_grad=True) * 2
    state = defaultdict(list, {"a": (x, [x, 3]), "b": Pair(x, None)})
    bare = detach(state)
    assert not any(tensor.requires_grad for tensor in (bare["a"][0], bare["a"][1][0], bare["b"].h))
    assert isinstance(bare["b"], Pair)
    assert bare["a"][1][1] == 3
