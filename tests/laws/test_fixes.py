"""A loop that was broken and fixed trains, bit for bit, as the loop that was never broken."""

import warnings

import pytest
import torch

from zerograd.core.findings import Safety
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Fix, Rule, Sees
from zerograd.source.fixes.mending import mend
from zerograd.source.sweep import Reader, Settings

HEAD = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
head = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
other = torch.optim.Adam(head.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
loader = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(7)]
"""
PLAIN = """\
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    scheduler.step()
"""
GROUPS = """\
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y)
    (loss / 2).backward()
    if (i + 1) % 2 == 0 or i + 1 == len(loader):
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        optimizer.zero_grad()
"""
TWO = """\
for x, y in loader:
    loss = nn.functional.mse_loss(head(model(x)), y)
    optimizer.zero_grad()
    other.zero_grad()
    loss.backward()
    optimizer.step()
    other.step()
"""
SCALED = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    scaler.step(optimizer)
    scaler.update()
"""
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)\n"


def without(loop: str, line: str) -> str:
    assert line in loop
    return "".join(one for one in loop.splitlines(keepends=True) if one.strip() != line)


def behind(loop: str, line: str, target: str) -> str:
    lines = without(loop, line).splitlines(keepends=True)
    number = next(number for number, one in enumerate(lines) if one.strip() == target)
    indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
    return "".join([*lines[: number + 1], f"{indent}{line}\n", *lines[number + 1 :]])


BROKEN = {
    "not cleared": (PLAIN, without(PLAIN, "optimizer.zero_grad()")),
    "only named": (PLAIN, PLAIN.replace("optimizer.zero_grad()", "optimizer.zero_grad")),
    "cleared before the loop": (PLAIN, "optimizer.zero_grad()\n" + without(PLAIN, "optimizer.zero_grad()")),
    "cleared before the step": (PLAIN, behind(PLAIN, "optimizer.zero_grad()", "loss.backward()")),
    "clipped behind the step": (PLAIN, behind(PLAIN, CLIP.strip(), "optimizer.step()")),
    "stepped twice": (PLAIN, PLAIN.replace("    scheduler", "    optimizer.step()\n    scheduler")),
    "scheduled first": (PLAIN, "for x, y in loader:\n    scheduler.step()\n" + "".join(PLAIN.splitlines(True)[1:-1])),
    "a group not cleared": (GROUPS, without(GROUPS, "optimizer.zero_grad()")),
    "a group not divided": (GROUPS, GROUPS.replace("(loss / 2)", "loss")),
    "a group without its tail": (GROUPS, GROUPS.replace(" or i + 1 == len(loader)", "")),
    "clipped in every micro-batch": (
        GROUPS,
        behind(GROUPS, CLIP.strip(), "(loss / 2).backward()").replace("        torch", "    torch"),
    ),
    "one of two not cleared": (TWO, without(TWO, "other.zero_grad()")),
    "neither of two": (TWO, without(without(TWO, "other.zero_grad()"), "optimizer.zero_grad()")),
    "clipped before unscaling": (SCALED, without(SCALED, "scaler.unscale_(optimizer)")),
    "scaled and not cleared": (SCALED, without(SCALED, "optimizer.zero_grad()")),
}


def fixed(text: str, *, unsafe: bool = True) -> str:
    reader = Reader(Settings())
    return mend(text, "train.py", lambda other: reader.judge(other, "train.py")[0], unsafe=unsafe).text


def weights(text: str) -> list[torch.Tensor]:
    space: dict[str, object] = {"__name__": "__main__"}
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about schedules that move too early
        exec(compile(text, "train.py", "exec"), space)
    tensors = [module.parameters() for module in space.values() if isinstance(module, torch.nn.Module)]
    return [
        *(p.detach() for each in tensors for p in each),
        *(v for v in space.values() if isinstance(v, torch.Tensor)),
    ]


def same(one: str, other: str) -> bool:
    left, right = weights(one), weights(other)
    return len(left) == len(right) and all(map(torch.equal, left, right))


@pytest.mark.parametrize("how", BROKEN)
def test_broken_and_fixed_is_as_good_as_never_broken(how: str) -> None:
    whole, broken = BROKEN[how]
    assert not same(HEAD + broken, HEAD + whole)
    assert same(fixed(HEAD + broken), HEAD + whole)


SAFE = [rule for rule in REGISTRY.values() if rule.fix is Fix.SAFE and Sees.SOURCE in rule.sees]


@pytest.mark.parametrize("rule", SAFE, ids=lambda rule: rule.code)
def test_a_safe_fix_changes_no_bit(rule: Rule) -> None:
    mended = fixed(rule.bad, unsafe=False)
    assert mended != rule.bad
    assert same(mended, rule.bad)
    assert Safety.SAFE.value == rule.fix.value
