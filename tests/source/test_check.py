"""Never crashes, never hangs, never runs what it reads."""

import argparse
import ast
import gc
import inspect
import re
import sys
import sysconfig
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zerograd.core.findings import Certainty, Severity
from zerograd.errors import SourceError
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Sees
from zerograd.source.check import check_text
from zerograd.source.project.files import Project
from zerograd.source.text.suppression import JUDGED, UNUSED

ARGPARSE = inspect.getsource(argparse)
BAD_LOOP = """\
def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
"""

PIECES = [
    *(line + "\n" for rule in REGISTRY.values() for line in rule.bad.splitlines()),
    "if x:\n",
    "    ",
    "try:\n",
    "except:\n",
    "else:\n",
    "with a.accumulate(m):\n",
    "def f(self, batch_idx):\n",
    "class A(B):\n",
    "print 'python 2'\n",
    "\x00",
    "\ufeff",
    "lambda: ",
    "(" * 60,
    "match x:\n    case _:\n        pass\n",
    "async def g():\n    await h()\n",
]


def survives(text: str) -> None:
    with suppress(SourceError):
        check_text(text, "fuzz.py")


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=30).map("".join))
def test_anything_is_survived(text: str) -> None:
    survives("import torch\nloss.backward()\n" + text)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(list(REGISTRY.values())))
def test_broken_programs_are_survived(seed: int, rule) -> None:
    text = rule.bad
    start = seed % len(text)
    survives(text[:start] + text[start + 1 + seed % 7 :])


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nx.backward()\n" + "(" * 5000,
        "import torch\nx.backward()\nx = " + "-" * 20000 + "1",
        "import torch\nx.backward()\n" + "\n".join("    " * i + "if x:" for i in range(90)),
        "import torch\nx.backward()\nx = [" + "1, " * 50000 + "]",
        "import torch\n"
        + "\n".join(f"def f{i}():\n    f{(i + 1) % 40}(); f{(i + 7) % 40}(); opt.step()" for i in range(40)),
        "import torch\nfor x in y:\n"
        + "\n".join(f"    if a{i}: opt.step()\n    if b{i}: loss.backward()" for i in range(60)),
        "import torch\n"
        + "\n".join(f"def f{i}():\n    loss.backward()\n" + f"    f{(i + 1) % 9}()\n" * 30 for i in range(9))
        + "\nopt.step(f0)\n" * 20,
        "import torch\nloss.backward()\n" + "\n".join(f"p{i} = q{i}\nfor x in p{i}: pass" for i in range(2000)),
    ],
    ids=["parentheses", "signs", "indents", "literal", "call graph", "flags", "closures", "names"],
)
def test_the_pathological_takes_no_more_than_a_moment(text: str) -> None:
    gc.collect()
    gc.freeze()  # what other tests have left is not walked over again and again
    before, begin = a_moment(), time.process_time()
    survives(text)
    taken = time.process_time() - begin
    assert taken < 30 * max(before, a_moment())


def a_moment() -> float:
    """The CPU time of a fixed piece of work, a tenth of a second: a busy machine needs longer for this as well."""
    begin = time.process_time()
    for _ in range(5):
        list(ast.walk(ast.parse(ARGPARSE)))
    return time.process_time() - begin


def test_nothing_is_executed_or_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "booby_trap.py").write_text("raise SystemExit('imported')")
    check_text("import torch, booby_trap\nraise SystemExit('executed')\nloss.backward()\noptimizer.step()\n")
    assert "booby_trap" not in sys.modules


def test_the_standard_library_is_silent() -> None:
    files = list(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    assert len(files) > 100
    for file in files:
        assert check_text(file.read_text(encoding="utf-8", errors="replace"), file.name) == []


PYTHON_2 = """\
import torch
for x, y in loader:
    y = y.cuda(async=True)
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    print "loss", loss
    try:
        print "saved"
    except IOError, error:
        print >>sys.stderr, error
"""


def test_python_2_is_read_at_its_own_lines() -> None:
    (finding,) = check_text(PYTHON_2)
    assert (finding.code, finding.site.line, finding.certainty) == ("ZG001", 6, Certainty.CERTAIN)


def test_look_alikes_are_left_alone() -> None:
    assert check_text("import mxnet\nfor x in y:\n    loss.backward()\n    optimizer.step()\n") == []


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"], ids=["carriage return", "both", "line feed"])
def test_whatever_ends_its_lines(end: str) -> None:
    """Before and behind functions, so that what belongs to which is told by lines."""
    text = "import torch\n\ndef one(x):\n    return x\n\n" + BAD_LOOP + "\ndef other(x):\n    return x\n"
    found = check_text(text.replace("\n", end), "program.py")
    assert [(one.code, one.site.line) for one in found] == [("ZG001", 10)]


@pytest.mark.parametrize(
    "code", sorted({code for code, rule in REGISTRY.items() if Sees.SOURCE in rule.sees} - {UNUSED})
)
def test_a_rule_needs_no_other_to_be_chosen(code: str) -> None:
    rule = REGISTRY[code]
    everything = [one for one in check_text(rule.bad, "program.py") if one.code == code]
    assert everything
    assert check_text(rule.bad, "program.py", rules=[rule]) == everything


HANDED = """\
import torch

def train(self, losses):
    for i, loss in enumerate(losses):
        loss.backward()
        if (i + 1) % self.grad_accum == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
"""


@pytest.mark.parametrize(("text", "code"), [(HANDED, "ZG101")])
def test_what_nobody_can_prove_is_possible(text: str, code: str) -> None:
    """The losses may be sums, or have been divided by the caller."""
    found = [one for one in check_text(text, "program.py") if one.code == code]
    assert found
    assert {one.certainty for one in found} == {Certainty.POSSIBLE}


MICRO = """
import torch
model = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    opt.zero_grad()
    for i in range({count}):
        model(x).square().sum().backward()
    opt.step()
"""


@pytest.mark.parametrize(("count", "doubted"), [("4", False), ("1, 5, 2", False), ("0", True), ("n", True)])
def test_a_loop_over_a_number_runs(count: str, doubted: bool) -> None:
    """Nothing is wrong with it, and not even doubted if it must have run."""
    assert [finding.code for finding in check_text(MICRO.format(count=count))] == ["ZG003"] * doubted


PAGES = [(code, part) for code in sorted(JUDGED) for part in ("bad", "good")]


def certain(text: str) -> set[tuple[int, str]]:
    found = check_text(text, "program.py")
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
    found = check_text(text, str(tmp_path / "program.py"), project=Project(str(tmp_path)))
    assert [(one.site.line, one.code) for one in found] == [(8, "ZG001")]


def test_methods_may_be_bound_before_they_are_called() -> None:
    loop = "    loss = net(x).mean()\n    pull = loss.backward\n    pull()\n    move = opt.step\n    move()\n"
    text = "import torch\nnet = torch.nn.Linear(2, 1)\nopt = torch.optim.SGD(net.parameters())\nfor x in data:\n"
    assert certain(text + loop) == {(9, "ZG001")}
