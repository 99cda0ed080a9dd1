"""A chart's points stay few, and lose neither the least nor the largest of what they stand for."""

from hypothesis import given
from hypothesis import strategies as st

from zerograd.report.series import Series, rounded


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300))
def test_few_points_that_keep_the_ends(values: list[float]) -> None:
    series = Series(points=16)
    for step, value in enumerate(values, start=1):
        series.add(step, value)
    columns = series.columns()
    assert len(series) <= 16
    low, high = columns.get("low", columns["y"]), columns.get("high", columns["y"])
    assert min(low) == rounded(min(values))  # type: ignore[arg-type]
    assert max(high) == rounded(max(values))  # type: ignore[arg-type]
    assert columns["x"][0] == 1  # type: ignore[index]


def test_what_is_no_number_is_counted() -> None:
    series = Series()
    for step, value in enumerate([1.0, float("nan"), float("inf"), 2.0]):
        series.add(step, value)
    assert series.columns() == {"x": [0, 3], "y": [1, 2], "none": 2}
