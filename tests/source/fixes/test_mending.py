"""Several fixes at once, and again: the file ends up mended, and a second time changes nothing."""

import pytest

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Sees
from zerograd.source.fixes.mending import Mended, mend
from zerograd.source.sweep import Reader, Settings

SOURCE = [rule for rule in REGISTRY.values() if Sees.SOURCE in rule.sees]


def mended(text: str, *, unsafe: bool = True) -> Mended:
    reader = Reader(Settings())

    def look(other: str) -> list[Finding]:
        return reader.judge(other, "train.py")[0]

    return mend(text, "train.py", look, unsafe=unsafe)


def test_two_optimizers_at_once() -> None:
    head = "import torch\na = torch.nn.Linear(4, 1)\nb = torch.nn.Linear(4, 1)\n"
    head += "opt_a = torch.optim.SGD(a.parameters())\nopt_b = torch.optim.SGD(b.parameters())\n"
    loop = "for x in y:\n    loss = a(x) + b(x)\n    loss.backward()\n    opt_a.step()\n    opt_b.step()\n"
    done = mended(head + loop)
    assert [finding.code for finding in done.left] == []
    assert len(done.fixed) == 2
    assert done.text.count("zero_grad()") == 2


def test_only_safe_ones_unless_asked() -> None:
    text = REGISTRY["ZG001"].bad
    assert mended(text, unsafe=False).text == text
    assert mended(REGISTRY["ZG403"].bad, unsafe=False).text != REGISTRY["ZG403"].bad


@pytest.mark.parametrize("rule", SOURCE, ids=lambda rule: rule.code)
def test_the_second_time_changes_nothing(rule: object) -> None:
    once = mended(rule.bad)  # type: ignore[attr-defined]
    assert mended(once.text).text == once.text
    assert all(finding.fix is None for finding in once.left)


def test_all_bad_programs_in_one_file() -> None:
    """They share names, so that what one leaves another finds: still nothing new comes, and it comes to an end."""
    programs = [rule.bad.split("\n\n")[-1] for rule in SOURCE if rule.code < "ZG1"]
    text = REGISTRY["ZG001"].bad.split("\nfor ")[0] + "\n" + "\n".join(programs)
    once = mended(text)
    assert once.fixed
    assert mended(once.text).text == once.text
