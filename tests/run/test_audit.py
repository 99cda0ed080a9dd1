"""The audit sees everything, changes nothing, and leaves no trace."""

import warnings
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.autograd.variable import Variable
from torch.optim import Optimizer

import zerograd
from zerograd.errors import AuditError, FaultFound

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "adam-foreach": lambda p: torch.optim.Adam(p, lr=0.01, foreach=True),
    "adamw-fused": lambda p: torch.optim.AdamW(p, lr=0.01, fused=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
}


def _train(make, *, clear: bool) -> torch.Tensor:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 1))
    optimizer = make(model.parameters())
    for _ in range(6):
        if clear:
            optimizer.zero_grad()
        model(torch.randn(8, 4)).square().mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("clear", [True, False])
@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_the_weights_are_bitwise_the_same(make, clear: bool) -> None:
    plain = _train(make, clear=clear)
    with zerograd.audit(on_finding="collect") as watch:
        audited = _train(make, clear=clear)
    assert torch.equal(plain, audited)
    assert [finding.code for finding in watch.findings] == ([] if clear else ["ZG001"])
    assert (watch.steps, watch.backwards, watch.slots) == (6, 6, 4)


def test_every_hook_is_taken_out_again() -> None:
    before = (Variable._execution_engine, Optimizer.zero_grad, nn.Module.zero_grad, Optimizer.add_param_group)
    with zerograd.audit():
        assert Optimizer.zero_grad is not before[1]
    after = (Variable._execution_engine, Optimizer.zero_grad, nn.Module.zero_grad, Optimizer.add_param_group)
    assert all(old is new for old, new in zip(before, after, strict=True))


def test_it_sees_optimizers_made_before_it() -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(2):
            weight.sum().backward()
            optimizer.step()
    assert [finding.code for finding in watch.findings] == ["ZG001"]


def test_it_sees_groups_added_later() -> None:
    first, second = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
    with zerograd.audit(on_finding="collect") as watch:
        optimizer = torch.optim.SGD([first], lr=0.1)
        optimizer.add_param_group({"params": [second]})
        for _ in range(2):
            optimizer.zero_grad()
            (first + second).sum().backward()
            optimizer.step()
    assert watch.slots == 2
    assert watch.findings == []


def test_a_wrapped_step_counts_once() -> None:
    class Wrapped(torch.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    weight = nn.Parameter(torch.ones(3))
    with zerograd.audit(on_finding="collect") as watch:
        optimizer = Wrapped([weight], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            weight.sum().backward()
            optimizer.step()
    assert watch.findings == []
    assert watch.steps == 3


def test_a_step_that_raises_does_not_confuse_the_next() -> None:
    class Fails(torch.optim.SGD):
        fail = True

        def step(self, closure=None):
            if self.fail:
                raise RuntimeError("once")
            return super().step(closure)

    weight = nn.Parameter(torch.ones(3))
    with zerograd.audit(on_finding="collect") as watch:
        optimizer = Fails([weight], lr=0.1)
        for attempt in range(4):
            optimizer.fail = attempt == 1
            optimizer.zero_grad()
            weight.sum().backward()
            if optimizer.fail:
                with pytest.raises(RuntimeError):
                    optimizer.step()
            else:
                optimizer.step()
    assert watch.findings == []


def _broken() -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(3):
        weight.sum().backward()
        optimizer.step()


def test_findings_can_be_raised() -> None:
    with pytest.raises(FaultFound, match="ZG001"), zerograd.audit(on_finding="raise"):
        _broken()


def test_findings_can_be_called_back_and_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    heard = []
    with zerograd.audit(on_finding=heard.append) as watch:
        _broken()
    assert [finding.code for finding in heard] == ["ZG001"]
    assert watch.findings[0].times == 2
    assert "1 error; 3 steps, 3 backwards, 1 slot audited" in watch.summary()
    with zerograd.audit():
        _broken()
    assert capsys.readouterr().err.count("ZG001") == 1


def test_rules_can_be_chosen() -> None:
    with zerograd.audit(on_finding="collect", select=["ZG004"]) as watch:
        _broken()
    assert watch.findings == []


@pytest.mark.parametrize("chosen", ["ZG006", "ALL"])
def test_a_rule_that_tells_another_more_exactly_can_be_chosen_alone(chosen: str) -> None:
    first, second = nn.Linear(2, 2), nn.Linear(2, 1)
    cleared, never = torch.optim.SGD(first.parameters(), lr=0.1), torch.optim.SGD(second.parameters(), lr=0.1)
    with zerograd.audit(on_finding="collect", select=[chosen]) as watch:
        for _ in range(3):
            cleared.zero_grad()
            second(first(torch.ones(1, 2))).sum().backward()
            cleared.step()
            never.step()
        _broken()
    codes = [finding.code for finding in watch.findings]
    assert codes == (["ZG006"] if chosen == "ZG006" else ["ZG006", "ZG001"])
    assert watch.findings[0].message == "never.step() uses old gradients: never is never cleared"
    assert watch.findings[0].cure == "call never.zero_grad() right after never.step()"
    assert "2 parameters (weight, bias)" in watch.findings[0].related[-1].message  # and how much of the update is old


def test_a_callback_that_raises_does_not_blind_the_audit() -> None:
    def refuse(finding: zerograd.Finding) -> None:
        raise ValueError(finding.code)

    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with zerograd.audit(on_finding=refuse) as watch:
        refused = 0
        for _ in range(5):
            weight.sum().backward()
            try:
                optimizer.step()
            except ValueError:
                refused += 1
    assert refused == 1
    assert watch.steps == 5
    assert watch.findings[0].times == 4


def test_an_audit_that_is_started_again_trusts_no_old_books() -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    watch = zerograd.audit(on_finding="collect")
    with watch:
        weight.sum().backward()
        optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    weight.sum().backward()
    with watch:
        optimizer.step()
    assert watch.findings == []
    assert watch.steps == 2


def test_what_was_certain_once_stays_certain() -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with zerograd.audit(on_finding="collect") as watch:
        for edit in (False, False, True):
            weight.sum().backward()
            optimizer.step()
            if edit:
                weight.grad.mul_(0.5)
        for _ in range(2):
            weight.sum().backward()
            optimizer.step()
    assert {finding.certainty.value for finding in watch.findings} == {"certain"}


def test_an_error_before_a_backward_does_not_blind_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    from zerograd.run.accounts import Accounts

    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with zerograd.audit(on_finding="collect") as watch:
        with monkeypatch.context() as broken:
            broken.setattr(Accounts, "ours", lambda self: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                weight.sum().backward()
        for _ in range(3):
            weight.sum().backward()
            optimizer.step()
    assert [(finding.code, finding.times) for finding in watch.findings] == [("ZG001", 2)]


def test_audits_do_not_nest() -> None:
    with zerograd.audit(), pytest.raises(AuditError, match="already running"):
        zerograd.audit().start()
    watch = zerograd.audit().start()
    watch.stop()
    watch.stop()


def test_what_is_not_audited_is_said() -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with zerograd.audit(on_finding="collect", sample=4) as watch:
        for _ in range(12):
            optimizer.zero_grad()
            weight.sum().backward()
            optimizer.step()
    assert watch.unaudited == {"left out by sample": 6}
    told = "nothing found in these 6; 6 of 12 steps audited, 12 backwards, 1 slot; 6 not audited: left out by sample"
    assert watch.counts() == told
    assert not watch.complete
    with zerograd.audit() as watch:
        weight.sum().backward()
    assert watch.counts().endswith("not audited: no torch.optim.Optimizer has stepped")


@pytest.mark.parametrize("sample", [1, 2, 3, 10])
def test_a_sample_finds_what_goes_on_all_the_time(sample: int) -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with zerograd.audit(on_finding="collect", sample=sample) as watch:
        for _ in range(40):
            weight.sum().backward()
            optimizer.step()
    assert [finding.code for finding in watch.findings if finding.fails] == ["ZG001"]


def test_a_mode_that_is_not_known_is_refused() -> None:
    with pytest.raises(zerograd.ZerogradError, match="unknown mode 'fast'"):
        zerograd.audit(mode="fast")


def test_a_finding_names_parameters_and_numbers() -> None:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(3):
            model(torch.ones(8, 4)).mean().backward()
            optimizer.step()
    (finding,) = watch.findings
    assert finding.related[-1].site == finding.site
    assert finding.related[-1].message == "50% of this update is old; 2 parameters (weight, bias)"


def test_a_run_whose_findings_are_only_possible_does_not_call_itself_clean() -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with zerograd.audit(on_finding="collect") as watch:
        for i in range(12):
            weight.square().sum().backward()
            if i == 8:  # kept for the next step: who knows why
                continue
            optimizer.step()
            optimizer.zero_grad()
    assert [(finding.code, finding.certainty.value) for finding in watch.findings] == [("ZG007", "possible")]
    assert watch.counts() == "1 possible; 11 steps, 12 backwards, 1 slot audited"


def test_what_was_watched_can_be_swapped_when_the_audit_is_over() -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(12):
            optimizer.zero_grad()
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        model.double()  # torch refuses tensors that somebody has weak references to
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    assert watch.findings == []


def _counted(loop: Callable[[nn.Module, Optimizer], None]) -> list[tuple[str, str, int]]:
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(20):
            loop(model, optimizer)
    return [(finding.code, finding.certainty.value, finding.times) for finding in watch.findings]


def _loses(model: nn.Module, optimizer: Optimizer) -> None:
    model(torch.randn(6, 4)).square().mean().backward()
    optimizer.zero_grad()
    optimizer.step()


def _never_asks(model: nn.Module, optimizer: Optimizer) -> None:
    optimizer.zero_grad()
    model(torch.randn(6, 4)).square().mean()
    optimizer.step()


def _clips_first(model: nn.Module, optimizer: Optimizer) -> None:
    optimizer.zero_grad()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    model(torch.randn(6, 4)).square().mean().backward()
    optimizer.step()


@pytest.mark.parametrize(
    ("loop", "code"), [(_loses, "ZG002"), (_never_asks, "ZG003"), (_clips_first, "ZG302")], ids=["2", "3", "302"]
)
def test_a_fault_of_every_step_is_counted_once_a_step(loop: Callable[[nn.Module, Optimizer], None], code: str) -> None:
    assert _counted(loop) == [(code, "certain", 20)]


def test_a_schedule_that_moves_too_soon_is_told_once() -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    with zerograd.audit(on_finding="collect") as watch, warnings.catch_warnings(action="ignore"):
        for _ in range(3):
            optimizer.zero_grad()
            weight.sum().backward()
            schedule.step()
            optimizer.step()
    assert [(finding.code, finding.times) for finding in watch.findings] == [("ZG301", 1)]


@pytest.mark.parametrize(("moves", "told"), [("always", ["ZG301 possible 2"]), ("with the weights", []), ("late", [])])
def test_a_schedule_that_moves_on_a_step_that_was_skipped_is_possible(moves: str, told: list[str]) -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    with zerograd.audit(on_finding="collect") as watch, warnings.catch_warnings(action="ignore"):
        for number in range(12):
            optimizer.zero_grad()
            scaler.scale(weight.sum() * (torch.inf if number in (0, 5) else 1.0)).backward()
            scaler.step(optimizer)
            before = scaler.get_scale()
            scaler.update()
            if moves == "always" or (moves == "late" and number % 6 == 5):
                schedule.step()
            if moves == "with the weights" and scaler.get_scale() >= before:
                schedule.step()
    assert [f"{one.code} {one.certainty.value} {one.times}" for one in watch.findings] == told
    assert all("although the scaler skipped scaler.step()" in one.message for one in watch.findings)


@pytest.mark.parametrize(("second", "told"), [("part", ["ZG004 possible"]), ("other part", [])])
def test_two_optimizers_that_step_on_one_gradient_are_possible(second: str, told: list[str]) -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))
    whole = torch.optim.SGD(model.parameters() if second == "part" else model[1].parameters(), lr=0.1)
    part = torch.optim.SGD(model[0].parameters(), lr=0.1)
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(4):
            model.zero_grad()
            model(torch.randn(6, 4)).square().mean().backward()
            whole.step()
            part.step()
    assert [f"{finding.code} {finding.certainty.value}" for finding in watch.findings] == told
    assert all("both hold 2 parameters (0.weight, 0.bias)" in str(finding.related) for finding in watch.findings)
