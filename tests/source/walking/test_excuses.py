"""Why a finding is only possible: the place whose doubt may excuse it, and in which words."""

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
opt_a, opt_b = attack.make(model), attack.make(net)
for x in loader:
    model.zero_grad()
    model(x).sum().backward()
    opt_a.step()
    opt_b.step()
"""


@pytest.mark.parametrize(
    ("text", "at", "why"),
    [
        (
            CALL.format("reset_gradients()"),
            "model.reset_gradients()",
            "what model.reset_gradients() does cannot be read, it may clear",
        ),
        (TEST, "if flag.now():", "whether to clear hangs on this test"),
        (LOOP, "for x in loader:", "if this loop runs at all, it may deposit"),
        (CALLED, "    clear()\n", "clear() may clear, or not"),
        (CALLER, "def train", "whoever calls this function may clear"),
        (OTHERS, "model.zero_grad()", "model.zero_grad() may be for other parameters"),
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
