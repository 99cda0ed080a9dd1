"""Every claim is settled by its measurement: change what torch does and the verdict changes."""

import json

import pytest
import torch

from zerograd.cli import main
from zerograd.lab.claim import Claim, Ruling, load_claims
from zerograd.lab.experiment import settle

EXPECTED = {
    "C01": Ruling.HOLDS,
    "C02": Ruling.HOLDS,
    "C04": Ruling.HOLDS,
    "C05": Ruling.HOLDS_IF,
    "C06": Ruling.HOLDS,
    "C07": Ruling.HOLDS_IF,
}


@pytest.mark.parametrize("claim", load_claims([]), ids=lambda claim: claim.id)
def test_a_claim_is_settled(claim: Claim) -> None:
    result = settle(claim)
    assert result.verdict.ruling is EXPECTED[claim.id]
    assert bool(result.verdict.condition) or result.verdict.ruling is not Ruling.HOLDS_IF
    assert json.dumps(result.as_object())
    for meeting in result.meetings:
        assert meeting.check == meeting.audit == ("ZG001",)
        assert meeting.step_is_clean


def test_verdicts_follow_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a working zero_grad, clearing changes nothing and an interrupted iteration is inherited everywhere."""
    monkeypatch.setattr(torch.optim.Optimizer, "zero_grad", lambda self, set_to_none=True: None)
    rulings = {claim.id: settle(claim).verdict.ruling for claim in load_claims(["C05", "C06"])}
    assert rulings == {"C05": Ruling.DOES_NOT_HOLD, "C06": Ruling.DOES_NOT_HOLD}


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path) -> None:
    assert main(["lab", "--list"]) == 0
    assert capsys.readouterr().out.count("\n") == len(EXPECTED)
    out = tmp_path / "lab.json"
    assert main(["lab", "c04", "--json", str(out)]) == 0
    assert "holds" in capsys.readouterr().out
    (claim,) = json.loads(out.read_text())["claims"]
    assert (claim["id"], claim["verdict"]) == ("C04", "holds")
