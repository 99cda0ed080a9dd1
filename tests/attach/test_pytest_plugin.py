"""pytest --zerograd: the test that made a fault fails, at the user's line, alone or among workers."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest, torch, zerograd

def train(clear):
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(3):
        if clear:
            optimizer.zero_grad()
        weight.sum().backward()
        optimizer.step()

def test_right():
    train(True)

def test_wrong():
    train(False)

def test_wrong_again():
    train(False)

def test_wrong_and_failing():
    train(False)
    assert False

@pytest.mark.zerograd_allow("stale-accumulation")
def test_allowed():
    train(False)

@pytest.mark.zerograd_allow("stale-acumulation")
def test_mistyped():
    pass

@pytest.mark.zerograd_allow("ZG004")
def test_something_else_allowed():
    train(False)

def test_own_audit():
    with zerograd.audit(on_finding="collect") as audit:
        train(False)
    assert [finding.code for finding in audit.findings] == ["ZG001"]

def test_own_audit_that_raises():
    with zerograd.audit(on_finding="raise"), pytest.raises(zerograd.FaultFound):
        train(False)

def test_closure():
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    def closure():
        optimizer.zero_grad()
        loss = weight.square().sum()
        loss.backward()
        return loss
    for _ in range(2):
        optimizer.step(closure)

def step_once():
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    weight.sum().backward()
    optimizer.zero_grad()
    optimizer.step()

def test_one_wrong_step():
    step_once()

def test_one_wrong_step_under_its_own_audit():
    with zerograd.audit(on_finding="collect") as audit:
        step_once()
    assert [finding.code for finding in audit.findings] == ["ZG002"]

@pytest.fixture
def trained():
    train(False)

def test_wrong_in_a_fixture(trained):
    pass

@pytest.mark.xfail(strict=True)
def test_expected_to_fail():
    train(False)
"""


def run(cwd: Path, *options: str, text: str = TESTS) -> list[str]:
    (cwd / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-rA", "--strict-markers", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=900).stdout.splitlines()


@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["alone", "xdist"])
def test_what_was_not_audited_is_said_and_fails_where_all_is_required(options: list[str], tmp_path: Path) -> None:
    told = run(tmp_path, "--zerograd", "-k", "closure or right", *options)
    assert "zerograd: nothing found; 3 of 5 steps audited; 2 not audited: fed by a closure" in told
    assert "PASSED test_it.py::test_closure" in told
    told = run(tmp_path, "--zerograd", "--zerograd-require-all", "-k", "closure or right", *options)
    assert any(line.startswith("FAILED test_it.py::test_closure - ") for line in told)
    assert "PASSED test_it.py::test_right" in told


@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["alone", "xdist"])
def test_every_test_is_judged_by_what_it_did(options: list[str], tmp_path: Path) -> None:
    told = run(tmp_path, "--zerograd", *options)
    verdicts = sorted(
        line.split(" - ")[0] for line in told if line.startswith(("PASSED", "FAILED", "ERROR ", "XFAIL "))
    )
    assert verdicts == [
        "ERROR test_it.py::test_mistyped",
        "ERROR test_it.py::test_wrong_in_a_fixture",
        "FAILED test_it.py::test_one_wrong_step",
        "FAILED test_it.py::test_something_else_allowed",
        "FAILED test_it.py::test_wrong",
        "FAILED test_it.py::test_wrong_again",
        "FAILED test_it.py::test_wrong_and_failing",
        "PASSED test_it.py::test_allowed",
        "PASSED test_it.py::test_closure",
        "PASSED test_it.py::test_one_wrong_step_under_its_own_audit",
        "PASSED test_it.py::test_own_audit",
        "PASSED test_it.py::test_own_audit_that_raises",
        "PASSED test_it.py::test_right",
        "XFAIL test_it.py::test_expected_to_fail",
    ]
    assert (
        sum(line.startswith("test_it.py:11:1: ZG001 optimizer.step() uses gradients left over") for line in told) >= 5
    )
    assert "zerograd: every test is audited" in told
    assert told.count("zerograd_allow: unknown rule 'stale-acumulation'") == 1
    places = [line for line in told if line.startswith("zerograd: ZG")]
    assert places == ["zerograd: ZG001 at test_it.py:11 in 6 tests", "zerograd: ZG002 at test_it.py:63"]


POSSIBLE = """
import torch

def test_it():
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for i in range(12):
        weight.square().sum().backward()
        if i == 8:  # kept for the next step: who knows why
            continue
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["alone", "xdist"])
def test_settings_in_pyproject(options: list[str], tmp_path: Path) -> None:
    """Which rules, how closely, and whether doubts are shown; the command line wins."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nzerograd_select = ["ZG0"]\nzerograd_mode = "full"\nzerograd_possible = true\n'
    )
    only = ["--zerograd", "-k", "test_right or test_wrong_again", *options]
    assert "FAILED test_it.py::test_wrong_again" in _verdicts(run(tmp_path, *only))
    assert "PASSED test_it.py::test_wrong_again" in _verdicts(run(tmp_path, *only, "--zerograd-select", "ZG1,ZG003"))
    told = run(tmp_path, "--zerograd", *options, text=POSSIBLE)
    assert "PASSED test_it.py::test_it" in told
    assert "zerograd: ZG007 at test_it.py:11 (possible)" in told


@pytest.mark.parametrize(
    ("line", "said"),
    [('zerograd_mode = "deep"', "zerograd_mode: 'deep' is neither of lean, full"),
     ('zerograd_select = ["ZG01x"]', "zerograd_select: unknown rule 'ZG01x'")],
)  # fmt: skip
def test_settings_that_mean_nothing(line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{line}\n")
    command = [sys.executable, "-m", "pytest", "--zerograd", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert done.returncode == 4
    assert said in done.stderr


def _verdicts(told: list[str]) -> list[str]:
    return [line.split(" - ")[0] for line in told]
