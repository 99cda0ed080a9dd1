"""Every claim is settled by its measurement: change what torch does and the verdict changes."""

import json
from importlib import import_module
from pathlib import Path

import pytest
import torch

from zerograd.cli import main
from zerograd.lab.claim import Claim, Ruling, load_claims
from zerograd.lab.experiment import document, read_results, settle, settle_all

QUICK = {
    "C02": Ruling.HOLDS,
    "C04": Ruling.HOLDS,
    "C06": Ruling.HOLDS,
    "C07": Ruling.HOLDS_IF,
    "C09": Ruling.HOLDS_IF,
    "C11": Ruling.HOLDS,
    "C21": Ruling.DOES_NOT_HOLD,
    "C22": Ruling.HOLDS_IF,
}
# What makes a claim small enough for a test, without changing what it says.
SMALL = {
    "C03": {"STEPS": 30, "SEEDS": (0, 1)},
    "C05": {"STEPS": 60, "SEEDS": (0,), "RATES": {"SGD": (0.002, 0.2)}},
    "C08": {"STEPS": 6},
    "C18": {"STEPS": 2, "SEEDS": (0,)},
}


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def _small(name: str, monkeypatch: pytest.MonkeyPatch) -> Claim:
    (claim,) = load_claims([name])
    module = import_module(claim.measure.__module__)
    for constant, value in SMALL.get(name, {}).items():
        monkeypatch.setattr(module, constant, value)
    return claim


def _ruling(claim: Claim) -> Ruling:
    return claim.judge(claim.measure()).ruling


@pytest.mark.parametrize("name", QUICK)
def test_a_claim_is_settled(name: str) -> None:
    (claim,) = load_claims([name])
    result = settle(claim)
    assert result.verdict.ruling is QUICK[name]
    assert result.verdict.condition or result.verdict.ruling is not Ruling.HOLDS_IF
    assert json.dumps(result.as_object(), allow_nan=False)
    assert all(meeting.step_is_right for meeting in result.meetings)


@pytest.mark.parametrize("name", ["C03", "C05", "C06", "C08", "C11", "C14"])
def test_the_verdict_flips_when_nothing_clears(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = _small(name, monkeypatch)
    assert _ruling(claim) is not Ruling.DOES_NOT_HOLD
    monkeypatch.setattr(torch.optim.Optimizer, "zero_grad", lambda self, set_to_none=True: None)
    assert _ruling(claim) is Ruling.DOES_NOT_HOLD


@pytest.mark.parametrize("name", ["C02", "C04", "C14", "C18"])
def test_the_verdict_flips_when_backward_overwrites(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = _small(name, monkeypatch)
    backward = torch.Tensor.backward

    def overwriting(self: torch.Tensor, *args: object, **kwargs: object) -> None:
        for leaf in _leaves(self.grad_fn, set()):
            leaf.grad = None
        if name == "C02":
            return None  # and this one writes nothing at all
        return backward(self, *args, **kwargs)

    monkeypatch.setattr(torch.Tensor, "backward", overwriting)
    assert _ruling(claim) is Ruling.DOES_NOT_HOLD


def _leaves(node: object, seen: set[object]) -> list[torch.Tensor]:
    if node is None or node in seen:
        return []
    seen.add(node)
    found = [node.variable] if hasattr(node, "variable") else []
    return found + [leaf for following, _ in node.next_functions for leaf in _leaves(following, seen)]


def test_c22_follows_its_numbers() -> None:
    (claim,) = load_claims(["C22"])
    measured = claim.measure()
    shares = measured["percent of them, by where they clear"]
    shares["at the top"] = 60
    assert claim.judge(measured).ruling is Ruling.HOLDS
    shares["at the top"] = 10
    assert claim.judge(measured).ruling is Ruling.DOES_NOT_HOLD


def test_all_22_are_there_and_say_when() -> None:
    claims = load_claims([])
    assert [claim.id for claim in claims] == [f"C{number:02}" for number in range(1, 23)]
    assert all(claim.see.endswith(".") and claim.advice for claim in claims)


def test_a_claim_is_found_by_what_people_type() -> None:
    assert [claim.id for claim in load_claims(["5", "c7", "C05", "C13"])] == ["C05", "C07", "C13"]


def test_results_are_read_back(tmp_path: Path) -> None:
    results = settle_all(load_claims(["C09"]))
    path = tmp_path / "lab.json"
    path.write_text(json.dumps(document(results)))
    assert read_results(path) == results


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["lab", "--list"]) == 0
    assert capsys.readouterr().out.count("\n") == 22
    folder = tmp_path / "out"
    assert main(["lab", "c04", "c09", "--folder", str(folder), "--docs", str(tmp_path / "docs")]) == 0
    said = capsys.readouterr()
    assert "holds" in said.out
    first, second, _ = said.err.splitlines()
    assert first.startswith("zerograd lab: 1/2  C04 ")  # one line as each claim begins: nobody waits in the dark
    assert second.startswith("zerograd lab: 2/2  C09 ")
    found = json.loads((folder / "lab.json").read_text())
    assert [(claim["id"], claim["verdict"]) for claim in found["claims"]] == [("C04", "holds"), ("C09", "holds_if")]
    assert {"statement", "condition", "measured", "tools"} < set(found["claims"][0])
    assert sorted(path.name for path in (folder / "figures").iterdir()) == ["C04.png", "C04.svg", "C09.png", "C09.svg"]
    assert main(["lab", "--from", str(folder / "lab.json"), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["claims"] == found["claims"]
    earlier = ["lab", "--from", str(folder / "lab.json"), "--output-format", "json"]
    assert main(earlier) == 0
    assert json.loads(capsys.readouterr().out)["claims"] == found["claims"]
    assert main([*earlier, "--output-file", str(tmp_path / "again.json")]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads((tmp_path / "again.json").read_text())["claims"] == found["claims"]


def test_mistakes_are_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["lab", "C99"]) == 2
    assert "unknown claim" in capsys.readouterr().err
    (tmp_path / "no.json").write_text("[]")
    assert main(["lab", "--from", str(tmp_path / "no.json")]) == 2
    assert "not the results of a lab" in capsys.readouterr().err
    assert main(["lab", "--output-file", "x.json"]) == 2
    assert "--output-file goes with --output-format json" in capsys.readouterr().err
    assert main(["lab", "C22", "--count", str(tmp_path / "nowhere")]) == 2
