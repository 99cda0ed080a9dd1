"""Where a claim meets the tools: what check, audit and Step make of a loop that it warns of."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from zerograd.core.findings import Certainty, Finding, Severity
from zerograd.errors import StepError
from zerograd.lab.loop import Loop, Played, Scene, distance

Player = Callable[[Loop, Scene, bool], Played]  # runs a loop on a scene, audited or not


def alone(loop: Loop, scene: Scene, audited: bool) -> Played:
    return loop.play(scene(), audited=audited)


class Bug(NamedTuple):
    """A loop that is wrong, the same work done right, and the same work through Step."""

    loop: Loop
    fault: str  # the rules that name it, by code: what else is said about the loop does not count here
    scene: Scene
    right: Loop  # by hand: what Step must end with too
    step: Loop
    because: str  # how a Step cannot have the fault, in one sentence
    attempt: Loop | None = None  # the fault, written into a Step's block: it must be refused
    tolerance: float = 0.0  # how far Step may end from `right`, as a share; 0: bit for bit
    player: Player = alone
    demand: Callable[[Played], str] = lambda played: ""  # what else is wrong with the run through Step, if anything


class Meeting(NamedTuple):
    """What the tools say about one loop. What is empty, or false, is missing."""

    loop: str
    text: str
    ends: str  # the exception that the loop ends with, if it does
    check: tuple[str, ...]
    audit: tuple[str, ...]
    step_is_right: bool
    step: str  # how Step cannot have it; if it is not so, what is wrong
    step_text: str


def meet(bug: Bug) -> Meeting:
    wrong = bug.player(bug.loop, bug.scene, True)
    right, why = _through_step(bug)
    return Meeting(
        loop=bug.loop.name,
        text=bug.loop.text,
        ends=_told(wrong.error),
        check=codes(bug.loop.checked(), bug.fault),
        audit=codes(wrong.findings, bug.fault),
        step_is_right=right,
        step=why,
        step_text=bug.step.text,
    )


def _through_step(bug: Bug) -> tuple[bool, str]:
    """Whether Step does the work, does it right, is found clean by both tools, and refuses the fault."""
    reference = bug.player(bug.right, bug.scene, False)
    done = bug.player(bug.step, bug.scene, True)
    if reference.error or done.error:
        return False, f"ends with {_told(reference.error or done.error)}"
    found = codes(finding for finding in (*bug.step.checked(), *done.findings) if finding.fails)
    if found:
        return False, f"the tools report {', '.join(found)}"
    apart = distance(done.weights, reference.weights)
    if not apart <= bug.tolerance:
        return False, f"the weights are {apart:.1e} away from the right ones"
    if wrong := bug.demand(done):
        return False, wrong
    if bug.attempt is None:
        return True, bug.because
    refused = bug.player(bug.attempt, bug.scene, False).error
    if refused is None:
        return False, "the fault can be written into the block"
    by = refused.slug if isinstance(refused, StepError) else type(refused).__name__
    return True, f"{bug.because} Written into the block it is refused ({by})."


def codes(findings: Iterable[Finding], wanted: str = "") -> tuple[str, ...]:
    """Each rule that fired, or of those that are wanted, with what makes it less than a certain fault."""
    best: dict[str, str] = {}
    for finding in findings:
        if wanted and finding.code not in wanted:
            continue
        words = [finding.severity.value] if finding.severity is Severity.NOTE else []
        words += ["possible"] if finding.certainty is Certainty.POSSIBLE else []
        told = f"{finding.code} ({', '.join(words)})" if words else finding.code
        if len(told) < len(best.get(finding.code, told + " ")):
            best[finding.code] = told
    return tuple(told for _, told in sorted(best.items()))


def _told(error: Exception | None) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0]}" if error else ""
