"""The places beside a finding: what led there on the path that was walked, and what may excuse it."""

import pytest

from zerograd.core.findings import Certainty
from zerograd.source.check import check_text

HEAD = """\
import torch
from torch import nn
from others import attack, flag, model, loader, net

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
CALL = """\
for x in loader:
    model.{}
    model(x).sum().backward()
    optimizer.step()
"""
TEST = """\
for x in loader:
    if flag.now():
        optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
"""
LOOP = """\
while True:
    optimizer.zero_grad()
    for x in loader:
        model(x).sum().backward()
    optimizer.step()
"""
CALLED = """\
def clear():
    if flag.now():
        optimizer.zero_grad()

for x in loader:
    clear()
    model(x).sum().backward()
    optimizer.step()
"""
CALLER = """\
def train(model, optimizer, x):
    model(x).sum().backward()
    optimizer.step()
"""
OTHERS = """\
body = nn.Linear(2, 2)
attack(body)
optimizer = torch.optim.SGD(body.parameters(), lr=0.1)
for x in loader:
    net.zero_grad()
    net(body(x)).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("text", "at", "why"),
    [
        (
            CALL.format("reset_gradients()"),
            "model.reset_gradients()",
            "zerograd cannot read model.reset_gradients(), which may clear the gradients",
        ),
        (TEST, "if flag.now():", "this condition decides whether to clear the gradients"),
        (LOOP, "for x in loader:", "this loop may run backward(), and may not run at all"),
        (CALLED, "    if flag.now()", "this condition decides whether to clear the gradients"),
        (CALLER, "def train", "the caller of this function may clear the gradients"),
        (OTHERS, "net.zero_grad()", "net.zero_grad() may be for other parameters"),
    ],
    ids=["call", "test", "loop", "called", "caller", "others"],
)
def test_what_may_excuse_a_finding_is_told(text: str, at: str, why: str) -> None:
    whole = HEAD + text
    findings = [one for one in check_text(whole) if one.certainty is Certainty.POSSIBLE]
    told = {(place.site.line, place.message) for one in findings for place in one.related}
    line = whole[: whole.rindex(at)].count("\n") + 1
    assert (line, f"only possible: {why}") in told


def test_nothing_excuses_what_is_certain() -> None:
    findings = check_text(HEAD + CALL.format("eval()"))
    assert [one.certainty for one in findings] == [Certainty.CERTAIN]
    assert not any("only possible" in place.message for one in findings for place in one.related)


def test_another_arm_of_a_branch_is_not_on_the_way() -> None:
    text = (
        HEAD
        + """\
scaler = torch.amp.GradScaler()
for x in loader:
    if flag:
        scaler.scale(model(x).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    else:
        model(x).sum().backward()
        optimizer.step()
"""
    )
    (finding,) = [one for one in check_text(text) if one.code == "ZG001"]
    assert [place.site.line for place in finding.related] == [14]
