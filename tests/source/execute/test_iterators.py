"""Iterators of parameters: who reads one to its end leaves nothing for the next."""

import pytest

from zerograd.core.findings import Certainty
from zerograd.source.check import check_text

SCENE = """
import itertools
import torch
from torch import nn

def train(model, other, loader, setting):
    {made}
    opt = torch.optim.SGD({given}, lr=0.1)
    for x, y in loader:
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        {read}
        opt.step()
"""
CLIP = "nn.utils.clip_grad_norm_(ps, 1.0)"


def found(made: str, given: str = "ps", read: str = CLIP) -> set[Certainty]:
    text = SCENE.format(made=made, given=given, read=read)
    return {one.certainty for one in check_text(text) if one.code == "ZG306"}


@pytest.mark.parametrize(
    "made",
    [
        "ps = model.parameters()",
        "ps = filter(None, list(model.parameters()))",
        "ps = (p for p in model.parameters() if p.requires_grad)",
        "ps = itertools.chain(model.parameters(), other.parameters())",
        "kept = model.parameters(); ps = iter(kept)",
    ],
)
def test_an_iterator_gives_nothing_to_the_second_reader(made: str) -> None:
    assert found(made) == {Certainty.CERTAIN}


@pytest.mark.parametrize(
    "made",
    [
        "ps = list(model.parameters())",
        "ps = [*model.parameters()]",
        "ps = [p for p in model.parameters()]",
        "ps = list(itertools.chain(model.parameters(), other.parameters()))",
    ],
)
def test_a_list_can_be_read_again(made: str) -> None:
    assert found(made) == set()


def test_who_reads_part_of_it_leaves_the_rest() -> None:
    assert found("ps = model.parameters(); first = next(ps)", read="pass") == set()


def test_one_that_is_made_of_others_reads_them() -> None:
    assert found("kept = model.parameters(); ps = filter(None, kept)", read=CLIP.replace("ps", "kept")) == {
        Certainty.CERTAIN
    }


def test_a_loop_reads_what_was_made_before_it_once() -> None:
    assert found("ps = model.parameters()", given="model.parameters()") == {Certainty.CERTAIN}


def test_in_which_iteration_it_is_read_may_be_one_alone() -> None:
    once = "if x.sum() > 0: " + CLIP
    assert Certainty.CERTAIN not in found("ps = model.parameters()", given="model.parameters()", read=once)


def test_what_is_a_list_on_one_path_is_no_fault_for_certain() -> None:
    made = "ps = model.parameters() if setting else list(model.parameters())"
    assert Certainty.CERTAIN not in found(made)
