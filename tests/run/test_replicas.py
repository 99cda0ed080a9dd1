"""Copies of parameters on several ranks are compared now and then, and nobody waits for it."""

from pathlib import Path

import pytest

from run.ranks import on_two_ranks
from zerograd.rules import REGISTRY

SAID = """
def said(watch):
    return [(one.code, one.certainty.value, one.related[-1:] and one.related[-1].message) for one in watch.findings]
"""
TRAIN = (
    SAID
    + """
def train(disturb, *, at=0, steps=10, sync=True, average=False):
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with zerograd.audit(on_finding="collect") as watch:
        for step in range(steps):
            if step == at:
                disturb(model.module)
            with nullcontext() if sync else model.no_sync():
                model(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            for p in model.parameters() if average else ():
                dist.all_reduce(p.data)
                p.data /= 2
    dist.barrier()
    return said(watch)


@torch.no_grad()
def on_one(module):
    if rank == 0:
        module.bias += 1e-6
"""
)


def told(printed: list[str]) -> list:
    """What any rank has said: the one that came second compares."""
    return [finding for one in printed for finding in eval(one)]


@pytest.mark.parametrize(
    ("at", "said"), [(0, ("3", "not the same at any check")), (3, ("5", "the same before step 3")), (9, ())]
)
def test_weights_that_were_changed_on_one_rank(at: int, said: tuple[str, ...], tmp_path: Path) -> None:
    found = told(on_two_ranks(f"{TRAIN}\nprint(train(on_one, at={at}))", tmp_path))
    assert [one[:2] for one in found] == [("ZG503", "certain")] * bool(said)
    for *_, text in found:
        assert text == f"at step {said[0]} these differ: 1 parameter (module.bias); {said[1]}"


@pytest.mark.parametrize("how", ["lambda module: None", "on_one, sync=False", "on_one, average=True, at=1"])
def test_nobody_is_accused_without_need(how: str, tmp_path: Path) -> None:
    """Not by this rule: what was not averaged is told by another one, and who averages weights means them to differ."""
    found = told(on_two_ranks(f"{TRAIN}\nprint(train({how}, steps=20))", tmp_path))
    assert [one for one in found if one[:2] == ("ZG503", "certain")] == []


UNEQUAL = (
    SAID
    + """
torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(DDP(model).parameters(), lr=0.1)
with zerograd.audit(on_finding="collect") as watch:
    for _ in range(5 + 20 * rank):  # past the wrapper: no rank waits for another
        model(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
print([one for one in said(watch) if one[0] == "ZG503"])
"""
)


def test_ranks_that_take_another_number_of_steps_are_not_held_up(tmp_path: Path) -> None:
    assert told(on_two_ranks(UNEQUAL, tmp_path)) == []


REPLICATED = (
    SAID
    + """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

def train(mesh, *, disturbed):
    torch.manual_seed(0)
    model = fully_shard(nn.Linear(4, 2), mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.no_grad():
        model.bias.to_local().add_(rank * disturbed)
    with zerograd.audit(on_finding="collect") as watch:
        for step in range(10):
            model(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    dist.barrier()
    return said(watch)

hybrid = init_device_mesh("cpu", (2, 1), mesh_dim_names=("replicate", "shard"))
sharded = init_device_mesh("cpu", (2,), mesh_dim_names=("shard",))
print(train(hybrid, disturbed=1.0) + [None] + train(hybrid, disturbed=0.0) + train(sharded, disturbed=1.0))
"""
)


def test_replicas_of_shards(tmp_path: Path) -> None:
    """What is sharded alone differs because it is meant to."""
    found = told(on_two_ranks(REPLICATED, tmp_path))
    assert [one and one[0] for one in found] in (["ZG503", None, None], [None, "ZG503", None])


@pytest.mark.parametrize("part", ["bad", "good"])
def test_the_page_is_true(part: str, tmp_path: Path) -> None:
    text = getattr(REGISTRY["ZG503"], part).replace('dist.init_process_group("gloo")\n', "")
    page = tmp_path / "page.py"
    page.write_text(text)
    program = f"""
import runpy
with zerograd.audit(on_finding="collect") as watch:
    runpy.run_path({str(page)!r})
dist.barrier()
print([one.site.line for one in watch.findings if one.fails])
"""
    lines = [number for number, line in enumerate(text.splitlines(), 1) if "# error: [ZG503]" in line]
    assert told(on_two_ranks(program, tmp_path)) == lines
