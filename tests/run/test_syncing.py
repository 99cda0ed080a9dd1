"""What DistributedDataParallel averages, and when it does not."""

from pathlib import Path

import pytest

from run.ranks import on_two_ranks
from zerograd.trace.ranks import disagreements, read_ranks

PROGRAM = """
alone = [dist.new_group([one]) for one in range(2)][rank]


def train(syncs, *, reduce=False, group=None):
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 1), process_group=group)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with zerograd.audit(on_finding="collect") as watch:
        for i in range(8):
            with nullcontext() if syncs[i % 2] else model.no_sync():
                model(torch.randn(8, 4)).square().mean().backward()
            if i % 2:
                if reduce:
                    for p in model.parameters():
                        dist.all_reduce(p.grad)
                optimizer.step()
                optimizer.zero_grad()
    return [finding.code for finding in watch.findings if finding.certainty.value == "certain"]

print(train([False, True]), train([True, True]), train([True, False]), train([False, False], reduce=True))
print(train([False, True], group=alone), train([True, True], group=alone), train([True, False], group=alone))
"""


def test_which_micro_batch_averages(tmp_path: Path) -> None:
    several, one = "[] ['ZG501'] ['ZG502'] []\n", "[] [] ['ZG502']\n"
    assert on_two_ranks(PROGRAM, tmp_path) == [several + one] * 2


DRIFTING = """
def train(trace, syncs):
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    with zerograd.audit(on_finding="collect", mode="full", trace=trace):
        for i in range(4):
            with nullcontext() if syncs else model.no_sync():
                model(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()

train("good.jsonl", True)
train("bad.jsonl", False)


def by_step(sync):
    model = DDP(nn.Linear(4, 1))
    step = zerograd.Step(torch.optim.SGD(model.parameters(), lr=0.1), sync=sync, clip=1.0)
    with zerograd.audit(on_finding="collect", mode="full") as watch:
        for i in range(4):
            with step:
                for batch in step.micro_batches([torch.randn(8, 4)] * 2, weight=len):
                    step.backward(model(batch).square().mean())
    return [finding.code for finding in watch.findings]


print(by_step("overlap"), by_step("commit"), by_step("each"))
"""


def test_ranks_that_consumed_different_things(tmp_path: Path) -> None:
    """And a Step that averages when it commits is not one of them."""
    assert on_two_ranks(DRIFTING, tmp_path) == ["[] [] ['ZG501']\n"] * 2
    good, bad = (disagreements(read_ranks(tmp_path.glob(f"{name}.rank*.jsonl"))) for name in ("good", "bad"))
    assert good == []
    (finding,) = bad
    assert finding.code == "ZG502"
    assert finding.fails
    assert finding.message.startswith("step 1 of SGD#0 used other gradients on rank ")


LOCAL = """
from torch.distributed import all_reduce  # early: before anybody watches


def train(average):
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with zerograd.audit(on_finding="collect") as watch:
        for i in range(12):
            with model.no_sync():
                model(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            if i % 5 == 4:
                average(model)
    return [(finding.code, finding.certainty.value, finding.times) for finding in watch.findings]


@torch.no_grad()
def one_by_one(model):
    for p in model.parameters():
        all_reduce(p)
        p /= 2

@torch.no_grad()
def flat(model):
    whole = nn.utils.parameters_to_vector(model.parameters()) / 2
    dist.all_reduce(whole)
    nn.utils.vector_to_parameters(whole, model.parameters())

print(train(one_by_one), train(flat))
"""


def test_weights_that_are_averaged_need_no_averaged_gradients(tmp_path: Path) -> None:
    """Until it was seen to happen, it may be meant to."""
    assert on_two_ranks(LOCAL, tmp_path) == ["[('ZG502', 'possible', 5)] [('ZG502', 'possible', 5)]\n"] * 2


FORGOTTEN = """
for i in range(3):
    with model.no_sync():
        model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(("more", "certain"), [("", True), ("dist.all_reduce(torch.ones(1))\n", False)])
def test_nobody_brings_them_together(more: str, certain: bool, tmp_path: Path) -> None:
    text = tmp_path / "loop.py"
    text.write_text(FORGOTTEN + more)
    program = f"""
import runpy
model = DDP(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with zerograd.audit(on_finding="collect") as watch:
    runpy.run_path({str(text)!r}, dict(torch=torch, dist=dist, model=model, optimizer=optimizer))
print([finding.code for finding in watch.findings if finding.certainty.value == "certain"])
"""
    assert on_two_ranks(program, tmp_path) == [f"{['ZG502'] * certain}\n"] * 2


PAST = """
def train(loss_of, *, reduce=False):
    torch.manual_seed(0)
    bare = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    model = DDP(bare)
    optimizer = torch.optim.SGD(bare.parameters(), lr=0.1)
    torch.manual_seed(rank)
    with zerograd.audit(on_finding="collect") as watch:
        for i in range(4):
            optimizer.zero_grad()
            loss_of(model, bare, torch.randn(8, 4))
            if reduce:
                for p in bare.parameters():
                    model.process_group.allreduce([p.grad]).wait()
            optimizer.step()
    return [(finding.code, "bypasses the" in finding.message) for finding in watch.findings if finding.fails]


def twice(model, x):
    loss = model(x).square().mean()
    loss.backward(retain_graph=True)
    loss.backward()

print(*train(lambda model, bare, x: model.module(x).square().mean().backward()))
print(*train(lambda model, bare, x: bare(x).square().mean().backward()))
print(*train(lambda model, bare, x: bare[1](x).square().mean().backward()))
print(*train(lambda model, bare, x: twice(model, x)))
print(*train(lambda model, bare, x: bare(x).square().mean().backward(), reduce=True))
print(*train(lambda model, bare, x: (bare(x).square().mean().backward(), model(x).square().mean().backward())))
"""


def test_a_loss_that_is_computed_past_the_wrapper(tmp_path: Path) -> None:
    """It is not averaged, nor is a second backward through one forward; unless by hand, or by a later backward."""
    past, again = "('ZG502', True)\n", "('ZG502', False)\n"
    assert on_two_ranks(PAST, tmp_path) == [past * 3 + again + "\n\n"] * 2
