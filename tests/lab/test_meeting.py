"""A cell that is not so is shown as missing."""

from functools import partial

from zerograd.lab.loop import Loop
from zerograd.lab.meeting import Bug, meet
from zerograd.lab.plain import CLEAR_AT_TOP, NEVER_CLEARED, THROUGH_STEP
from zerograd.lab.shapes import shapes_scene

BUG = Bug(
    NEVER_CLEARED, "ZG001", partial(shapes_scene, steps=4), right=CLEAR_AT_TOP, step=THROUGH_STEP, because="It clears."
)


def test_all_three_tools_meet_the_bug() -> None:
    met = meet(BUG)
    assert (met.check, met.audit, met.step_is_right, met.step) == (("ZG001",), ("ZG001",), True, "It clears.")


def test_what_is_not_about_the_fault_does_not_count() -> None:
    met = meet(BUG._replace(fault="ZG104"))
    assert met.check == met.audit == ()


def test_a_step_that_trains_otherwise_is_missing() -> None:
    other = Loop("other", THROUGH_STEP.text.replace("step.backward(loss)", "step.backward(2 * loss)"))
    met = meet(BUG._replace(step=other))
    assert not met.step_is_right
    assert "away from the right ones" in met.step


def test_a_step_that_the_tools_accuse_is_missing() -> None:
    met = meet(BUG._replace(step=NEVER_CLEARED))
    assert (met.step_is_right, met.step) == (False, "the tools report ZG001")


def test_a_fault_that_is_not_refused_is_missing() -> None:
    assert not meet(BUG._replace(attempt=THROUGH_STEP)).step_is_right
    clearing = THROUGH_STEP.text.replace("step.backward(loss)", "step.backward(loss)\n        optimizer.zero_grad()")
    refused = meet(BUG._replace(attempt=Loop("clearing", clearing)))
    assert refused.step == "It clears. Written into the block it is refused (cleared-inside)."


def test_a_loop_that_raises_says_with_what() -> None:
    met = meet(BUG._replace(loop=Loop("raises", NEVER_CLEARED.text + "raise ValueError('at the end')\n")))
    assert met.ends == "ValueError: at the end"
