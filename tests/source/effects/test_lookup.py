"""A qualified name has its own row, or that of its longest prefix."""

import pytest

from zerograd.source.effects.lookup import is_module_base, row_of
from zerograd.source.effects.protocols import is_engine, may_be_stepped, role_by_use
from zerograd.source.effects.rows import Act
from zerograd.source.project.hints import Role


@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("torch.optim.SGD", Act.OPTIMIZER),
        ("torch.optim.lr_scheduler.StepLR", Act.SCHEDULER),
        ("torch.optim.lr_scheduler.ReduceLROnPlateau", Act.PLATEAU),
        ("torch.nn.Linear", Act.MODULE),
        ("torch.nn.MSELoss", Act.CRITERION),
        ("torch.nn.functional.mse_loss", Act.LOSS),
        ("torch.nn.utils.clip_grad_norm_", Act.CLIPS),
        ("torch.matmul", Act.COMPUTES),
        ("torch.no_grad", Act.NO_GRAD),
        ("accelerate.Accelerator", Act.ACCELERATOR),
        ("numpy.mean", Act.NUMBER),
        ("builtins.enumerate", Act.ENUMERATE),
    ],
)
def test_what_a_name_does(name: str, act: Act) -> None:
    row = row_of(name)
    assert row is not None
    assert row.act is act


def test_what_no_table_knows_has_no_row() -> None:
    assert row_of("somewhere.train") is None


def test_networks_are_told_by_their_base() -> None:
    assert is_module_base("torch.nn.Module")
    assert not is_module_base("torch.nnx.Module")


@pytest.mark.parametrize(
    ("uses", "role"),
    [
        ({"step()", "zero_grad()"}, Role.OPTIMIZER),
        ({"unscale_(x)"}, Role.SCALER),
        ({"backward(x)"}, Role.ACCELERATOR),
        ({"get_last_lr()", "step()"}, Role.SCHEDULER),
        ({"parameters()"}, Role.MODULE),
        ({"step()"}, None),
    ],
)
def test_what_a_thing_is_by_what_is_done_with_it(uses: set[str], role: Role | None) -> None:
    assert role_by_use(uses) is role


def test_an_engine_does_it_all() -> None:
    assert is_engine({"backward(x)", "step()"})
    assert not is_engine({"backward(x)", "step()", "zero_grad()"})
    assert may_be_stepped({"step()"})
    assert not may_be_stepped({"step(x)", "reset()"})
