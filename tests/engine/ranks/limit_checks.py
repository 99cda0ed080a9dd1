"""A rank that fails where no vote can help, inside a collective of the wrapper's: the others wait for the limit."""

import os
import time
import warnings

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from engine.ranks.ddp_checks import loss_of, net
from engine.ranks.fsdp2_checks import sharded
from zerograd import PeerFailed, Step

warnings.simplefilter("ignore")


class Breaking(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return value.clone()

    @staticmethod
    def backward(ctx, grad):
        raise torch.OutOfMemoryError("injected")


def _fails_inside(model: nn.Module, rank: int) -> None:
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    batch = torch.ones(2, 4).double()
    begun = 0.0
    try:
        for number in range(3):
            begun = time.monotonic()
            with step:
                for part in step.micro_batches([batch, batch]):
                    loss = loss_of(model, part)
                    step.backward(Breaking.apply(loss) if rank == 1 and number == 2 else loss)
    except torch.OutOfMemoryError:
        assert rank == 1
    except PeerFailed as error:
        assert rank != 1
        assert "rank 1 failed: OutOfMemoryError('injected')" in str(error), error
    else:
        raise AssertionError("nobody was told")
    assert time.monotonic() - begun < 5 * int(os.environ["TIMEOUT"])
    assert step.committed == 2
    assert step.outcome.kind.value == "rolled_back"


def check_fsdp2(rank: int, ranks: int) -> None:
    _fails_inside(sharded(), rank)


def check_ddp(rank: int, ranks: int) -> None:
    _fails_inside(DDP(net()), rank)
