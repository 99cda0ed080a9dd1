import math

from zerograd.lab.statistics import apart, interval, told


def test_an_interval_is_students() -> None:
    found = interval([1.0, 2.0, 3.0])
    assert found["mean"] == 2
    assert math.isclose(found["high"] - 2, 4.30 / math.sqrt(3))
    assert told(found, ".1f") == "2.0 (-0.5 to 4.5)"


def test_one_run_has_no_width() -> None:
    assert interval([5.0]) == {"mean": 5.0, "low": 5.0, "high": 5.0, "runs": 1}


def test_apart() -> None:
    assert apart(interval([1.0, 1.1]), interval([9.0, 9.1]))
    assert not apart(interval([1.0, 9.0]), interval([2.0, 8.0]))
