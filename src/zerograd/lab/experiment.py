"""Running a claim: measure, judge, and see what the three tools make of the loops it warns of."""

import json
import platform
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from zerograd import __version__
from zerograd.errors import UsageError
from zerograd.lab import ranks
from zerograd.lab.claim import Claim, Measured, Verdict, load_claims
from zerograd.lab.meeting import Meeting, meet


class Result(NamedTuple):
    claim: Claim
    measured: Measured
    verdict: Verdict
    meetings: tuple[Meeting, ...]
    seconds: float  # of CPU, in this process and its ranks: what it costs, whoever else uses the machine

    def as_object(self) -> dict[str, Any]:
        return {
            "id": self.claim.id,
            "statement": self.claim.statement,
            "verdict": self.verdict.ruling.value,
            "condition": self.verdict.condition,
            "shown": self.claim.shown(self.measured),
            "measured": self.measured,
            "see": self.claim.see,
            "advice": self.claim.advice,
            "tools": [meeting._asdict() for meeting in self.meetings],
            "cpu_seconds": self.seconds,
        }


def settle(claim: Claim) -> Result:
    begin = _spent()
    measured = claim.measure()
    verdict = claim.judge(measured)
    meetings = tuple(meet(bug) for bug in claim.bugs)
    return Result(claim, measured, verdict, meetings, round(_spent() - begin, 1))


def _spent() -> float:
    return time.process_time() + ranks.spent()


def settle_all(claims: Iterable[Claim], *, begun: Callable[[Claim], None] = lambda claim: None) -> list[Result]:
    """Every claim, one thread each: small models gain nothing from more, and numbers stay the same everywhere."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    results = []
    try:
        for claim in claims:
            begun(claim)
            results.append(settle(claim))
    finally:
        torch.set_num_threads(threads)
    return results


def document(results: list[Result]) -> dict[str, Any]:
    """All that a run has found, for programs and for drawing it again."""
    machine = f"Python {platform.python_version()}, torch {torch.__version__}, {platform.system()} {platform.machine()}"
    return {
        "schema": 1,
        "zerograd": __version__,
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine,
        "claims": [result.as_object() for result in results],
    }


def read_results(path: Path) -> list[Result]:
    """The results of an earlier run: its measurements, judged again."""
    try:
        objects = {found["id"]: found for found in json.loads(path.read_text(encoding="utf-8"))["claims"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: not the results of a lab: {error}", slug="not-results") from None
    results = []
    for claim in load_claims(list(objects)):
        found = objects[claim.id]
        meetings = tuple(
            Meeting(**{**tool, "check": tuple(tool["check"]), "audit": tuple(tool["audit"])}) for tool in found["tools"]
        )
        measured = found["measured"]
        results.append(Result(claim, measured, claim.judge(measured), meetings, found["cpu_seconds"]))
    return results
