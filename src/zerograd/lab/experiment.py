"""Running a claim: measure, judge, and see what the three tools say about the loops it warns of."""

from typing import NamedTuple

import torch

from zerograd.engine.step import Step
from zerograd.lab.claim import Claim, Measured, Verdict
from zerograd.lab.loops import Loop
from zerograd.lab.tasks import telling_shapes_apart
from zerograd.run.audit import Audit


class Meeting(NamedTuple):
    """What the tools say about one buggy loop. An empty tuple is a tool that misses it."""

    loop: str
    check: tuple[str, ...]
    audit: tuple[str, ...]
    step_is_clean: bool


class Result(NamedTuple):
    claim: Claim
    measured: Measured
    verdict: Verdict
    meetings: tuple[Meeting, ...]

    def as_object(self) -> dict[str, object]:
        return {
            "id": self.claim.id,
            "statement": self.claim.statement,
            "verdict": self.verdict.ruling.value,
            "condition": self.verdict.condition,
            "measured": dict(self.measured),
            "shown": self.claim.shown(self.measured),
            "advice": self.claim.advice,
            "tools": [
                {**meeting._asdict(), "check": list(meeting.check), "audit": list(meeting.audit)}
                for meeting in self.meetings
            ],
        }


def settle(claim: Claim) -> Result:
    measured = claim.measure()
    return Result(claim, measured, claim.judge(measured), tuple(_meet(loop) for loop in claim.buggy))


def _meet(loop: Loop) -> Meeting:
    task = telling_shapes_apart(steps=4)
    optimizer = torch.optim.SGD(task.model.parameters(), lr=0.01)
    audited = loop.audited(task.model, optimizer, task.batches, task.loss_fn)
    return Meeting(loop.name, loop.checked(), audited, _step_is_clean())


def _step_is_clean() -> bool:
    """The same work through Step, under the audit: it has no place in which to forget a clear."""
    task = telling_shapes_apart(steps=4)
    step = Step(torch.optim.SGD(task.model.parameters(), lr=0.01))
    audit = Audit(on_finding="collect")
    with audit:
        for x, y in task.batches:
            with step:
                step.backward(task.loss_fn(task.model(x), y))
    return not audit.findings
