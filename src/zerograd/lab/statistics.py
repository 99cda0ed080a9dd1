"""Numbers that would be a little different with another seed: their mean and where it lies with 95% confidence."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

# Student's t for 95%, both sides, by the number of runs.
_T = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26, 15: 2.14, 20: 2.09, 30: 2.05}

Interval = dict[str, float]  # mean, low, high, runs


def interval(values: Sequence[float]) -> Interval:
    """The mean of runs that differ by their seed alone, and its 95% confidence interval."""
    n = len(values)
    mean = fmean(values)
    if n < 2 or not all(map(math.isfinite, values)):
        return {"mean": mean, "low": mean, "high": mean, "runs": n}
    t = _T[max(size for size in _T if size <= n)]
    half = t * stdev(values) / math.sqrt(n)
    return {"mean": mean, "low": mean - half, "high": mean + half, "runs": n}


def told(value: Interval, form: str = ".2f") -> str:
    """As people write it: 0.21 (0.18 to 0.24)."""
    return f"{value['mean']:{form}} ({value['low']:{form}} to {value['high']:{form}})"


def off(share: float) -> str:
    """A distance that may be nothing but rounding: 2e-16, or 0 where two things are the same bit for bit."""
    return f"{share:.0e}" if share else "0"


def apart(one: Interval, other: Interval) -> bool:
    """Whether the intervals do not even touch."""
    return one["high"] < other["low"] or other["high"] < one["low"]
