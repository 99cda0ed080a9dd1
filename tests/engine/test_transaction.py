"""A `with` that is over is over, however it was left; a move is made as a whole."""

import contextlib
import sys

import pytest
import torch

from engine.nets import BATCHES, make_model, sgd, weights
from zerograd import Step, join
from zerograd.core.events import Kind
from zerograd.engine.outcome import Ending
from zerograd.engine.transaction import Move

X = BATCHES[0][0]


def _boom() -> None:
    raise ZeroDivisionError


def test_a_move_knows_how_far_it_has_come() -> None:
    acts: list[int] = []
    move = Move(Ending.COMMITTED, [lambda: acts.append(1), lambda: acts.append(2)])
    assert (move.begun, move.made) == (False, False)
    move.make()
    move.make()  # nothing is left
    assert (move.begun, move.made, acts) == (True, True, [1, 2])
    torn = Move(Ending.COMMITTED, [lambda: acts.append(3), _boom])
    with pytest.raises(ZeroDivisionError):
        torn.make()
    assert (torn.begun, torn.made) == (True, False)
    assert Move(Ending.SKIPPED, []).made  # to do nothing is done at once


def _interrupted_on_the_way_out(frame, event, arg):
    if event == "call" and frame.f_code.co_name == "_exit":
        sys.settrace(None)
        raise KeyboardInterrupt


@pytest.mark.parametrize("joined", [False, True], ids=["", "joined"])
def test_ctrl_c_at_the_entrance_of_exit(joined: bool) -> None:
    model = make_model()
    before = weights(model)
    step = Step(sgd(model))
    usual = sys.gettrace()
    try:
        with join(step) if joined else step:
            step.backward(model(X).sum())
            sys.settrace(_interrupted_on_the_way_out)
    except KeyboardInterrupt as error:
        kept = error  # as a notebook keeps the last one
    finally:
        sys.settrace(usual)
    assert kept.__traceback__ is not None
    assert step.outcome.kind is Ending.ROLLED_BACK
    assert model[0].weight.grad is None
    assert torch.equal(weights(model), before)
    with step, contextlib.suppress(ZeroDivisionError):
        step.backward(model(X).sum())
    assert step.committed == 1


def test_other_ways_to_enter_and_leave() -> None:
    model = make_model()
    step = Step(sgd(model))
    with contextlib.ExitStack() as stack:
        stack.enter_context(step)
        step.backward(model(X).sum())
    step.__enter__()
    step.backward(model(X).sum())
    assert not step.__exit__(None, None, None)
    leave = step.__exit__
    step.__enter__()
    step.backward(model(X).sum())
    leave(None, None, None)
    assert hasattr(step, "__exit__")
    with step:
        step.backward(model(X).sum())
    assert step.committed == 4


def test_a_generator_that_is_dropped_rolls_back() -> None:
    model = make_model()
    step = Step(sgd(model))

    def body():
        with step:
            step.backward(model(X).sum())
            yield

    running = body()
    next(running)
    del running
    assert step.outcome.kind is Ending.ROLLED_BACK


def test_an_exit_stack_that_is_dropped_rolls_back_each_time() -> None:
    model = make_model()
    step = Step(sgd(model))
    for _ in range(2):
        stack = contextlib.ExitStack()
        stack.enter_context(step)
        step.backward(model(X).sum())
        del stack
        assert step.outcome.kind is Ending.ROLLED_BACK
        assert model[0].weight.grad is None
        with step:
            step.backward(model(X).sum())


def test_who_looks_for_an_exit_first_still_tells_the_trace() -> None:
    model, told = make_model(), []
    step = Step(sgd(model), trace=told.append)
    assert hasattr(step, "__exit__")
    step.__enter__()
    step.backward(model(X).sum())
    step.__exit__(None, None, None)
    assert [event.kind for event in told] == [Kind.CLEAR, Kind.DEPOSIT, Kind.CONSUME, Kind.CLEAR]
