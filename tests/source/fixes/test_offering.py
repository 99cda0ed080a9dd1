"""Fixes as they are offered: those of the rules' own pages, and those of odd but correct ways to write a loop."""

import re

import pytest

from zerograd.core.findings import Finding, Fix, Safety
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Fix as Promise
from zerograd.rules.rule import Rule, Sees
from zerograd.source.check import check_text
from zerograd.source.fixes.makers import MAKERS
from zerograd.source.fixes.offering import offer
from zerograd.source.fixes.places import apply

SOURCE = [rule for rule in REGISTRY.values() if Sees.SOURCE in rule.sees]


def fixes(text: str, code: str = "") -> list[Fix]:
    findings = offer(check_text(text, "train.py"), text, "train.py", lambda other: check_text(other, "train.py"))
    return [finding.fix for finding in findings if finding.fix and code in ("", finding.code)]


def fixed(text: str, code: str = "") -> str:
    """The text with the first fix that is offered."""
    return apply(text, fixes(text, code)[0].edits)


def bare(program: str) -> str:
    return re.sub(r"\s*# (?:error|note|source|run):.*", "", program)


@pytest.mark.parametrize("rule", [rule for rule in SOURCE if rule.code in MAKERS], ids=lambda rule: rule.code)
def test_bad_becomes_good(rule: Rule) -> None:
    (fix,) = fixes(rule.bad, rule.code)
    assert bare(apply(rule.bad, fix.edits)) == bare(rule.good)
    assert fix.safety.value == rule.fix.value
    assert fix.message[0].islower()


def test_a_rule_promises_a_fix_if_it_has_a_maker() -> None:
    by_comments = {"ZG901"}  # an unused suppression comes with its fix
    assert {rule.code for rule in SOURCE if rule.fix is not Promise.NONE} - by_comments == set(MAKERS)


HEAD = "import torch\nmodel = torch.nn.Linear(4, 1)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
CLEAR = "optimizer.zero_grad()"
WAYS = {
    "tabs": (
        "for x in y:\n\tloss = f(x)\n\tloss.backward()\n\toptimizer.step()\n",
        f"for x in y:\n\t{CLEAR}\n\tloss = f(x)",
    ),
    "one line": (
        "for x in y: loss = f(x); loss.backward(); optimizer.step()\n",
        f"for x in y: {CLEAR}; loss = f(x); loss.backward(); optimizer.step()\n",
    ),
    "a comment at the top": (
        "for x in y:\n    # forward\n    loss = f(x)  # loss\n    loss.backward()\n    optimizer.step()\n",
        f"for x in y:\n    # forward\n    {CLEAR}\n    loss = f(x)  # loss\n",
    ),
    "a line that goes on": (
        "for x in y:\n    loss = f(x) \\\n        + 1\n    loss.backward()\n    optimizer.step()\n",
        f"for x in y:\n    {CLEAR}\n    loss = f(x) \\\n        + 1\n",
    ),
    "a header that goes on": (
        "for x in y: \\\n    loss = f(x); loss.backward(); optimizer.step()\n",
        f"for x in y: \\\n    {CLEAR}; loss = f(x); loss.backward(); optimizer.step()\n",
    ),
    "a decorated function first": (
        "for x in y:\n    @decorated\n    def g(): pass\n    loss = f(x)\n    loss.backward()\n    optimizer.step()\n",
        f"for x in y:\n    {CLEAR}\n    @decorated\n    def g(): pass\n",
    ),
    "letters of two bytes": (
        'for x in y: s = "\u00e9\u00e9"; loss = f(x); loss.backward(); optimizer.step()\n',
        f'for x in y: {CLEAR}; s = "\u00e9\u00e9"; loss = f(x); loss.backward(); optimizer.step()\n',
    ),
    "a guard on one line, no last line end": (
        "for i, x in enumerate(y):\n    (f(x) / 4).backward()\n    if (i + 1) % 4 == 0: optimizer.step()",
        f"    if (i + 1) % 4 == 0: optimizer.step(); {CLEAR}",
    ),
    "a form feed": (
        "\f\nfor x in y:\n\f    loss = f(x)\n    loss.backward()\n    optimizer.step()\n",
        f"\f\nfor x in y:\n    {CLEAR}\n\f    loss = f(x)\n",
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_what_is_written_stays_as_it_is_written(way: str, end: str) -> None:
    text, wanted = ((HEAD + part).replace("\n", end) for part in WAYS[way])
    result = fixed(text, "ZG001")
    assert wanted.removeprefix(HEAD.replace("\n", end)) in result
    assert result.replace(f"{CLEAR}; ", "").replace(f"; {CLEAR}", "") == text or len(result.split(end)) == (
        len(text.split(end)) + 1
    )
    assert end == "\n" or "\n" not in result.replace(end, "")
    assert not fixes(result, "ZG001")


def test_a_move_takes_the_comment_of_its_line_along() -> None:
    loop = (
        "for x in y:\n    loss = f(x)\n    loss.backward()\n    optimizer.zero_grad()  # fresh\n    optimizer.step()\n"
    )
    wanted = (
        "for x in y:\n    loss = f(x)\n    optimizer.zero_grad()  # fresh\n    loss.backward()\n    optimizer.step()\n"
    )
    assert fixed(HEAD + loop, "ZG002") == HEAD + wanted


def test_a_name_is_called() -> None:
    loop = "for x in y:\n    optimizer.zero_grad\n    loss = f(x)\n    loss.backward()\n    optimizer.step()\n"
    assert fixed(HEAD + loop, "ZG001") == (HEAD + loop).replace(".zero_grad\n", ".zero_grad()\n")


def test_the_clear_of_an_epoch_moves_into_its_loop() -> None:
    loops = (
        "for epoch in range(3):\n    optimizer.zero_grad()\n    for x in y:\n        loss = f(x)\n"
        "        loss.backward()\n        optimizer.step()\n"
    )
    assert fixed(HEAD + loops, "ZG001") == HEAD + (
        "for epoch in range(3):\n    for x in y:\n        optimizer.zero_grad()\n        loss = f(x)\n"
        "        loss.backward()\n        optimizer.step()\n"
    )


LOOP = "for x in y:\n    loss = f(x)\n    loss.backward()\n    optimizer.step()\n"


@pytest.mark.parametrize(
    "line",
    [
        "import deepspeed",
        "from accelerate import Accelerator",
        "from apex import amp",
        "import horovod.torch as hvd",
        "import lightning as L",
        "graph = torch.cuda.CUDAGraph()",
    ],
)
def test_wrapped_optimizers_are_not_touched(line: str) -> None:
    assert fixes(HEAD + LOOP, "ZG001")
    assert not fixes(f"{HEAD}{line}\n{LOOP}")


def test_nothing_is_offered_where_it_would_harm() -> None:
    # What the clip gives is printed in every micro-batch: it cannot move under the guard.
    clip = (
        "for i, x in enumerate(y):\n    (f(x) / 4).backward()\n"
        "    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
        "    if (i + 1) % 4 == 0:\n        optimizer.step()\n        optimizer.zero_grad()\n    print(norm)\n"
    )
    assert not fixes(HEAD + clip, "ZG302")
    assert fixes(HEAD + clip.replace("    print(norm)\n", ""), "ZG302")
    # A branch may excuse it; Python 2 is read by guessing.
    assert not fixes(HEAD + LOOP.replace("    loss =", "    if x:\n        optimizer.zero_grad()\n    loss ="))
    assert not fixes(HEAD + LOOP + "print 'done'\n")


def test_only_a_clear_right_behind_another_is_safe_to_delete() -> None:
    text = HEAD + LOOP.replace("    loss =", "    model.zero_grad()\n    optimizer.zero_grad()\n    loss =")
    (fix,) = fixes(text)
    assert fix.safety is Safety.SAFE
    around = HEAD + LOOP.replace("    loss =", "    optimizer.zero_grad()\n    loss =") + "    optimizer.zero_grad()\n"
    assert [fix.safety for fix in fixes(around)] == [Safety.UNSAFE]
    other = text.replace("model.zero_grad()", "model.zero_grad(set_to_none=False)")
    assert not fixes(other, "ZG403")


def test_many_of_a_kind_are_tried_at_once() -> None:
    retained = LOOP.replace("backward()", "backward(retain_graph=True)").replace(
        "    loss =", f"    {CLEAR}\n    loss ="
    )
    text = HEAD + retained * 28  # more than would be tried one by one
    read: list[str] = []

    def check(other: str) -> list[Finding]:
        read.append(other)
        return check_text(other, "train.py")

    findings = check_text(text, "train.py")
    offered = offer(findings, text, "train.py", check, findings)
    assert len(read) == 1
    assert sum(finding.fix is not None for finding in offered) == 28
    assert (
        apply(text, [edit for one in offered if one.fix for edit in one.fix.edits])
        == HEAD + retained.replace("retain_graph=True", "") * 28
    )
