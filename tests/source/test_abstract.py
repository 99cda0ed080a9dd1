"""The abstract run finds what a rule's page shows, and stays silent on what is right."""

import re
from pathlib import Path

import pytest

from zerograd.core.findings import Certainty, Severity
from zerograd.rules import REGISTRY
from zerograd.source.abstract import CODES, check_abstractly
from zerograd.source.project.files import Project

PAGES = [(code, part) for code in sorted(CODES) for part in ("bad", "good")]


def certain(text: str) -> set[tuple[int, str]]:
    found = check_abstractly(text, "program.py")
    return {(one.site.line, one.code) for one in found if one.certainty is Certainty.CERTAIN}


@pytest.mark.parametrize(("code", "part"), PAGES)
def test_the_page_is_true(code: str, part: str) -> None:
    text = getattr(REGISTRY[code], part)
    lines = enumerate(text.splitlines(), start=1)
    notes = {other for other, rule in REGISTRY.items() if rule.severity is Severity.NOTE} - {code}
    found = {(line, one) for line, one in certain(text) if one not in notes}
    assert found == {(number, code) for number, line in lines if re.search(rf"# (error|note|source): \[{code}\]", line)}


def test_no_name_decides() -> None:
    text = REGISTRY["ZG001"].bad
    renamed = text.replace("optimizer", "v1").replace("loader", "v2").replace("model", "v3").replace("loss", "v4")
    renamed = renamed.replace("mse_v4", "mse_loss")
    assert certain(renamed) == certain(text)


def test_a_program_that_names_no_event_is_read_for_what_it_imports(tmp_path: Path) -> None:
    hands = "def pull(value):\n    return value.backward()\n\n\ndef do_it(thing):\n    return thing.step()\n"
    (tmp_path / "hands.py").write_text(hands)
    text = (
        "import torch\nfrom hands import do_it, pull\n\n\ndef train(model, loader, given):\n    for x in loader:\n"
        "        pull(torch.mean(model(x)))\n        do_it(given)\n"
    )
    found = check_abstractly(text, str(tmp_path / "program.py"), project=Project(str(tmp_path)))
    assert [(one.site.line, one.code) for one in found] == [(8, "ZG001")]


def test_methods_may_be_bound_before_they_are_called() -> None:
    loop = "    loss = net(x).mean()\n    pull = loss.backward\n    pull()\n    move = opt.step\n    move()\n"
    text = "import torch\nnet = torch.nn.Linear(2, 1)\nopt = torch.optim.SGD(net.parameters())\nfor x in data:\n"
    assert certain(text + loop) == {(9, "ZG001")}
