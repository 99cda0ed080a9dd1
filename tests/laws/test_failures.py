"""Whatever raises, and wherever: the state is as before the block, and training goes on as if it had not been there.

A fuse is burnt down by every operation that torch runs between the beginning and the end of the block (forward,
backward, norm, clip, optimizer, scaler) and by every call of the user's own functions; where it ends, it raises.
`make failures` injects 1,000.
"""

import os
import random
from contextlib import contextmanager, suppress

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from zerograd import Step, join

EXAMPLES = int(os.environ.get("ZEROGRAD_FAILURES", "50"))
BATCHES = [torch.randn(6, 3, generator=torch.Generator().manual_seed(seed)) for seed in range(4)]
EVERYTHING = ("rng", "buffers", "weights")
OPTIMIZERS = {
    "sgd": lambda net: [torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)],
    "adam": lambda net: [torch.optim.Adam(net.parameters(), lr=0.01)],
    "fused": lambda net: [torch.optim.AdamW(net.parameters(), lr=0.01, fused=True)],
    "two": lambda net: [torch.optim.Adagrad(net[0].parameters()), torch.optim.RMSprop(net[3].parameters())],
}
CLIPS = {
    "none": None,
    "norm": 0.1,
    "value": {"value": 0.01},
    "group": {"norm": 0.1, "per": "group"},
    "function": lambda named: FUSE.burn(),
}


class Injected(Exception):
    pass


class Fuse(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.burnt, self.length, self.lit = 0, None, False

    def burn(self) -> None:
        if self.lit:
            self.burnt += 1
            if self.burnt == self.length:
                raise Injected

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.burn()
        return function(*args, **(kwargs or {}))

    @contextmanager
    def light(self, length: int | None):
        self.burnt, self.length, self.lit = 0, length, True
        try:
            with self:
                yield
        finally:
            self.lit = False


FUSE = Fuse()


class Run:
    """One training, with everything in it that can change."""

    def __init__(self, optimizer: str, clip: str, scaled: bool, way: str) -> None:
        torch.manual_seed(0)
        random.seed(0)
        self.net = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Dropout(0.3), nn.Linear(5, 1))
        self.net[1].requires_grad_(False)
        optimizers = OPTIMIZERS["sgd" if way == "minimize" else optimizer](self.net)
        self.scaler = torch.amp.GradScaler(
            "cpu", init_scale=8.0, growth_interval=2, enabled=scaled and way != "minimize"
        )
        self.schedule = torch.optim.lr_scheduler.LambdaLR(optimizers[0], lambda epoch: FUSE.burn() or 0.9**epoch)
        self.step = Step(
            optimizers,
            model=self.net,
            clip=CLIPS[clip],
            scaler=self.scaler,
            scheduler=self.schedule,
            restore=EVERYTHING,
            inspect=lambda named: FUSE.burn(),
            trace=lambda event: FUSE.burn(),
        )
        self.other = nn.Linear(3, 1)
        self.second = Step(torch.optim.SGD(self.other.parameters(), lr=0.1), model=self.other, restore=EVERYTHING)
        self.way = way

    def block(self, batch: torch.Tensor) -> None:
        loss = lambda rows: self.net(rows).square().mean()
        match self.way:
            case "plain":
                with self.step:
                    self.step.backward(loss(batch))
            case "accumulate":
                with self.step:
                    for part in self.step.micro_batches(batch.split(4), weight=lambda part: FUSE.burn() or len(part)):
                        self.step.backward(loss(part))
            case "split":
                with self.step:
                    self.step.split(batch, loss)
            case "minimize":
                self.step.minimize(lambda step: step.backward(loss(batch)))
            case "join":
                with join(self.step, self.second) as both:
                    for part in both.micro_batches(batch.split(3)):
                        self.step.backward(loss(part))
                        self.second.backward(self.other(part).mean())

    def state(self) -> str:
        optimizers = [optimizer.state_dict() for step in (self.step, self.second) for optimizer in step.optimizers]
        numbers = [step.state_dict() for step in (self.step, self.second)]
        schedule = {key: value for key, value in self.schedule.state_dict().items() if key != "lr_lambdas"}
        gradients = [parameter.grad for net in (self.net, self.other) for parameter in net.parameters()]
        weights = [*self.net.state_dict().values(), *self.other.parameters()]
        chance = (torch.get_rng_state(), random.getstate())
        return str(_plain([weights, optimizers, schedule, self.scaler.state_dict(), numbers, gradients, chance]))


def _plain(value):
    match value:
        case torch.Tensor():
            return value.tolist()
        case dict():
            return {key: _plain(part) for key, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
        case _:
            return value


WAYS = st.sampled_from(["plain", "accumulate", "split", "minimize", "join"])


def _seed(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)


def _train(run: Run, batches: list[torch.Tensor], seed: int) -> None:
    _seed(seed)
    for batch in batches:
        run.block(batch)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.sampled_from(list(OPTIMIZERS)),
    st.sampled_from(list(CLIPS)),
    st.booleans(),
    WAYS,
    st.integers(0, 2),
    st.floats(0.0, 1.0, exclude_max=True),
)
def test_a_failure_leaves_no_trace(
    optimizer: str, clip: str, scaled: bool, way: str, before: int, where: float
) -> None:
    counted, failed, spared = (Run(optimizer, clip, scaled, way) for _ in range(3))
    for run in (counted, spared, failed):
        _train(run, BATCHES[:before], seed=0)
    with FUSE.light(None):
        counted.block(BATCHES[3])
    _seed(1)
    as_before = failed.state()
    with suppress(Injected), FUSE.light(1 + int(where * FUSE.burnt)):
        failed.block(BATCHES[3])
    assert FUSE.burnt >= FUSE.length  # it did fail; what is run to roll back burns on
    if failed.step.committed == before:
        assert failed.state() == as_before
    else:  # the trace raised when all was done: what is committed is committed
        _seed(1)
        spared.block(BATCHES[3])
    _train(failed, BATCHES[before:3], seed=2)
    after = failed.state()
    _train(spared, BATCHES[before:3], seed=2)
    assert after == spared.state()


def test_the_fuse_reaches_everything() -> None:
    """A law about failures that never happen would be worth nothing."""
    run = Run("two", "function", True, "accumulate")
    with FUSE.light(None):
        run.block(BATCHES[0])
    assert FUSE.burnt > 150
