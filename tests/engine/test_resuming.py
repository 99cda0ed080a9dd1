"""A Step goes on from a checkpoint, in the middle of a group too."""

import io

import pytest
import torch

from engine.nets import make_model, weights
from zerograd import Step, StepError, groups
from zerograd.engine import resuming

PARTS = list(
    torch.randn(20, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).split([3, 1, 4, 2, 5, 5])
)


def _loss(model, part):
    return model(part).square().mean()


def _saved(*things: object) -> list:
    file = io.BytesIO()
    torch.save(things, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3, 4, 5])
def test_a_group_is_finished_by_another_process(at: int, scaled: bool) -> None:
    def make() -> tuple:
        model = make_model(torch.float64)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0, enabled=scaled)
        return model, optimizer, Step(optimizer, clip=1.0, scaler=scaler)

    def train(model, step, parts, upto=None):
        done = 0
        for group in groups(parts, 4, begun=step.in_flight):
            with step:
                for part in step.micro_batches(group, weight=len):
                    step.backward(_loss(model, part))
                    done += 1
                    if done == upto:
                        saved = _saved(model.state_dict(), optimizer.state_dict(), step.state_dict(inflight="include"))
                        step.abort()
            if done == upto:
                return saved
        return None

    model, _, step = make()
    train(model, step, PARTS)
    other, optimizer, interrupted = make()
    saved = train(other, interrupted, PARTS, upto=at)
    assert saved is not None
    resumed, optimizer, goes_on = make()
    resumed.load_state_dict(saved[0])
    optimizer.load_state_dict(saved[1])
    goes_on.load_state_dict(saved[2])
    assert goes_on.in_flight == (at if at <= 4 else at - 4)
    train(resumed, goes_on, PARTS[at:])
    assert torch.equal(weights(model), weights(resumed))
    assert goes_on.committed == step.committed == 2


def test_gradients_in_flight_are_not_lost_unasked() -> None:
    model = make_model(torch.float64)
    step = Step(torch.optim.SGD(model.parameters()))
    assert step.state_dict()["inflight"] is None
    with step:
        assert step.state_dict()["inflight"] is None  # nothing deposited yet
        step.backward(_loss(model, PARTS[0]))
        with pytest.raises(StepError, match="in flight") as caught:
            step.state_dict()
        assert 'inflight="include"' in caught.value.cure
        assert step.state_dict(inflight="drop")["inflight"] is None
        with pytest.raises(StepError, match="inflight='keep'"):
            step.state_dict(inflight="keep")
        state = step.state_dict(inflight="include")
        with pytest.raises(StepError, match="inside the block"):
            step.load_state_dict(state)
    other = Step(torch.optim.SGD(make_model()[0].parameters()))
    with pytest.raises(StepError, match="4 slots are in flight, and the step has 2"):
        other.load_state_dict(state)


def _inflight_state() -> dict:
    model = make_model(torch.float64)
    step = Step(torch.optim.SGD(model.parameters()))
    with step:
        step.backward(_loss(model, PARTS[0]))
    with step:
        step.backward(_loss(model, PARTS[0]))
        return step.state_dict(inflight="include")


def _without(state: dict, *path: str) -> dict:
    return {key: _without(part, *path[1:]) if key == path[0] else part for key, part in state.items() if path != (key,)}


def _reshaped(state: dict) -> dict:
    first, *rest = state["inflight"]["gradients"]
    return {**state, "inflight": {**state["inflight"], "gradients": [first.t(), *rest]}}


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        *((lambda state, key=key: _without(state, key), f"the state of a Step has no {key}") for key in resuming.KEYS),
        (lambda state: _without(state, "inflight", "unit"), "what is in flight has no unit"),
        (lambda state: {}, "the state of a Step has no committed, skipped"),
        (lambda state: None, "the state of a Step is a NoneType"),
        (_reshaped, "the gradient in flight of 0.0 is"),
    ],
)
def test_what_is_not_the_state_of_this_step_changes_nothing(broken, what: str) -> None:
    model = make_model(torch.float64)
    step = Step(torch.optim.SGD(model.parameters()))
    before = step.state_dict()
    with pytest.raises(StepError, match=what):
        step.load_state_dict(broken(_inflight_state()))
    assert step.state_dict() == before
    assert step.in_flight == 0


def test_what_was_loaded_and_not_gone_on_with_is_in_flight_still() -> None:
    state = _inflight_state()
    step = Step(torch.optim.SGD(make_model(torch.float64).parameters()))
    step.load_state_dict(state)
    with pytest.raises(StepError, match="in flight"):
        step.state_dict()
    assert step.state_dict(inflight="drop")["inflight"] is None
    again = step.state_dict(inflight="include")["inflight"]
    assert all(map(torch.equal, again["gradients"], state["inflight"]["gradients"]))


def test_a_group_that_was_added_after_loading() -> None:
    model = make_model(torch.float64)
    step = Step(torch.optim.SGD(model.parameters()))
    step.load_state_dict(_inflight_state())
    step.optimizers[0].add_param_group({"params": [torch.nn.Parameter(torch.zeros(1))]})
    with pytest.raises(StepError, match="4 slots are in flight, and the step has 5"), step:
        pass
