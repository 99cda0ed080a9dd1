"""After a rehearsal every byte is what it was."""

import copy

import torch
from torch import Tensor, nn

from zerograd.engine.journal import Journal, Rehearsal


def everything(model: nn.Module) -> list[Tensor]:
    return [value.clone() for value in model.state_dict().values()]


def test_weights_buffers_state_and_random_numbers_come_back() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout())
    optimizer = torch.optim.AdamW(model.parameters())
    mean = torch.zeros(3)
    for round_ in range(2):  # before the optimizer has a state, and after
        weights, random = everything(model), torch.get_rng_state()
        state = copy.deepcopy(optimizer.state_dict())
        held = [value for values in optimizer.state.values() for value in values.values()]
        with Rehearsal([optimizer], list(model.parameters())) as rehearsal:
            for note in (True, False):
                if note:
                    rehearsal.noted.__enter__()
                model(torch.randn(8, 4)).square().mean().backward()
                optimizer.step()
                mean.mul_(0.9).add_(1)
                if note:
                    rehearsal.noted.__exit__(None, None, None)
            assert len(optimizer.state) == 4
        assert all(map(torch.equal, weights, everything(model)))
        assert torch.equal(random, torch.get_rng_state())
        assert torch.equal(mean, torch.zeros(3))
        assert all(parameter.grad is None for parameter in model.parameters())
        again = [value for values in optimizer.state.values() for value in values.values()]
        assert len(again) == len(held) == 12 * round_
        assert all(one is other for one, other in zip(held, again, strict=True))
        for one, other in zip(optimizer.state_dict()["state"].values(), state["state"].values(), strict=True):
            assert all(torch.equal(one[key], other[key]) for key in one)
        model(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def test_slots_in_one_buffer() -> None:
    """As cuDNN lays the weights of an LSTM."""
    buffer = torch.randn(10)
    slots = [nn.Parameter(buffer[:4]), nn.Parameter(buffer[4:])]
    before, journal = buffer.clone(), Journal()
    with journal, torch.no_grad():
        alias = torch.empty(0).set_(slots[0].untyped_storage())
        for slot in slots:
            slot.add_(1)
    assert not torch.equal(before, alias)
    journal.undo()
    assert torch.equal(before, buffer)


def test_memory_made_meanwhile_is_not_kept() -> None:
    journal = Journal()
    with journal:
        torch.zeros(1000).add_(1).mul_(2)
    assert not journal._kept
