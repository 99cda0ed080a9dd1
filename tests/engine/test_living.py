"""Whether a node that runs foreign code exists is known without looking at any graph."""

import gc

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from zerograd.engine import living
from zerograd.engine.living import foreign_nodes_live


def test_a_checkpoint_is_seen_while_its_graph_lives() -> None:
    gc.collect()
    assert not foreign_nodes_live()
    out = checkpoint(nn.Linear(2, 2), torch.ones(1, 2, requires_grad=True), use_reentrant=True)
    assert foreign_nodes_live()
    total = out.sum()
    del out
    assert foreign_nodes_live()
    del total
    assert not foreign_nodes_live()


def test_so_is_a_function_that_was_defined_just_now() -> None:
    gc.collect()
    assert not foreign_nodes_live()

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            return value.clone()

    assert not foreign_nodes_live()
    out = Own.apply(torch.ones(1, requires_grad=True))
    assert foreign_nodes_live()
    del out
    assert not foreign_nodes_live()


def test_a_python_that_does_not_count_always_looks(monkeypatch) -> None:
    monkeypatch.setattr(living, "_unused", None)
    assert foreign_nodes_live()


def test_this_python_counts() -> None:
    assert living._unused is not None
