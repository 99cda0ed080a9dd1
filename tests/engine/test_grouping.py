"""Groups of n, the last one shorter, the first one too if it was begun elsewhere."""

import pytest

from zerograd import StepError, groups


def test_groups() -> None:
    assert list(groups("abcde", 2)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(groups("bcde", 2, begun=1)) == [["b"], ["c", "d"], ["e"]]
    assert list(groups("", 2)) == []
    assert list(groups("cd", 2, begun=2)) == [[], ["c", "d"]]
    assert list(groups("", 2, begun=1)) == [[]]


@pytest.mark.parametrize(("n", "begun"), [(0, 0), (-1, 0), (2, 3), (2, -1), (1.5, 0), (2.0, 0), (2, 0.5), ("2", 0)])
def test_refused(n: int, begun: int) -> None:
    with pytest.raises(StepError, match="cannot be made"):
        groups("abc", n, begun=begun)
