"""A detector that fails takes nobody with it, and is missed by name."""

import pytest
import torch
from torch import nn

import zerograd
from zerograd.run.groups import Groups


def test_a_detector_that_fails_is_heard_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Groups, "consuming", lambda self, account, step: 1 / 0)
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(3):
            weight.sum().backward()
            optimizer.step()
    assert [finding.code for finding in watch.findings] == ["ZG001"]
    assert watch.summary().endswith("audited; rules not audited: ZG102, ZG103, ZG106")
