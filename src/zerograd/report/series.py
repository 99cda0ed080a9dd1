"""A number over the steps of a run, in as many points as a chart can show, however long the run is."""

import math


class Series:
    """Takes one number after the other. When its points are full, every two become one: least, mean, largest."""

    def __init__(self, points: int = 1024) -> None:
        self._limit = points
        self.width = 1  # steps in a point
        self._points: list[tuple[int, float, float, float, int]] = []  # first step, least, sum, largest, how many
        self.none = 0  # how many were no number

    def add(self, step: int, value: float) -> None:
        if not math.isfinite(value):
            self.none += 1
            return
        if self._points and step < self._points[-1][0] + self.width:
            first, least, total, largest, count = self._points[-1]
            self._points[-1] = (first, min(least, value), total + value, max(largest, value), count + 1)
            return
        if len(self._points) >= self._limit:
            self._halve()
            self.add(step, value)
            return
        self._points.append((step, value, value, value, 1))

    def _halve(self) -> None:
        self.width *= 2
        joined: list[tuple[int, float, float, float, int]] = []
        for point in self._points:
            if joined and point[0] < joined[-1][0] + self.width:
                first, least, total, largest, count = joined[-1]
                joined[-1] = (first, min(least, point[1]), total + point[2], max(largest, point[3]), count + point[4])
            else:
                joined.append(point)
        self._points = joined

    def __len__(self) -> int:
        return len(self._points)

    def columns(self) -> dict[str, list[float] | int]:
        """Steps and means; least and largest only where several steps share a point."""
        known: dict[str, list[float] | int] = {
            "x": [point[0] for point in self._points],
            "y": [rounded(point[2] / point[4]) for point in self._points],
        }
        if self.width > 1:
            known |= {
                "width": self.width,
                "low": [rounded(point[1]) for point in self._points],
                "high": [rounded(point[3]) for point in self._points],
            }
        return known | ({"none": self.none} if self.none else {})


def rounded(value: float) -> float:
    """To five digits: no eye sees more, and a file is smaller."""
    short = float(f"{value:.5g}")
    return int(short) if short == int(short) and abs(short) < 1e15 else short
