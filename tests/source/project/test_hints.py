"""The one table of role words is small, and a name's last telling word decides."""

import pytest

from zerograd.source.project.hints import WORDS, Role, role_of


def test_there_are_few_words() -> None:
    assert len(WORDS) <= 60


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("optimizer", Role.OPTIMIZER),
        ("train_opt2", Role.OPTIMIZER),
        ("lr_scheduler", Role.SCHEDULER),
        ("optimizerG", Role.OPTIMIZER),
        ("gradScaler", Role.SCALER),
        ("options", None),
        ("v7", None),
    ],
)
def test_role_of(name: str, role: Role | None) -> None:
    assert role_of(name) is role
