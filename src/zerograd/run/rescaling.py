"""What hands do to fresh gradients by multiplication: rescaling between two backwards (ZG107), and unscaling (ZG202).

A write into a fresh gradient may be a clip, noise, or a division by N. It is a rescaling when a sample of the values is
the same as before times one number, and a habit when that number comes again within one window.
"""

import torch
from torch import Tensor

from zerograd.run.values import Likeness, Sample, compared, sample

_LIKE = 1e-3
_FIRST = 6  # windows that end by a step or a clear, in which samples are taken in any case


class Rescaling:
    def __init__(self) -> None:
        self.watching = True  # take samples: somebody writes into fresh gradients, or it is too early to tell
        self.known = False  # that somebody does
        self._windows = 0
        self._deposited: Sample | None = None
        self._pairs: list[tuple[Sample, Sample]] = []  # what a backward left, and what became of it

    def written(self) -> None:
        """Somebody has written into fresh gradients."""
        self.watching = self.known = True

    def deposited(self, gradients: dict[int, Tensor]) -> None:
        """A backward is over."""
        self._deposited = sample(gradients)

    def look(self, gradients: dict[int, Tensor]) -> None:
        """The next backward begins, or the step does. Through `.data` a write leaves no trace but this."""
        now = sample(gradients) if self._deposited is not None else None
        if self._deposited is not None and now is not None:
            self._pairs.append((self._deposited, now))
        self._deposited = None

    def clamped_to(self, gradients: dict[int, Tensor]) -> float | None:
        """The limit, if what was deposited last is what lies there now but for what was above one limit."""
        return _limit(self._deposited, sample(gradients)) if self._deposited is not None else None

    def unscaled(self) -> None:
        """A scaler multiplies: that is its business."""
        self._deposited = None

    def factors(self) -> list[float | None]:
        """What each deposit of the window was multiplied by, until the next one or the step; None: by no one number."""
        found = [_factor(before, after) for before, after in self._pairs]
        if any(factor is None or abs(factor - 1) > _LIKE for factor in found):
            self.written()
        return found

    def forget(self) -> None:
        """The window is over."""
        self._pairs, self._deposited = [], None
        self._windows += 1
        self.watching = self.known or self._windows < _FIRST


def again_and_again(factors: list[float | None]) -> bool:
    """Whether a window was rescaled after each of its backwards, by the same number every time."""
    first = factors[0] if len(factors) > 1 else None
    if first is None or abs(first - 1) <= _LIKE:
        return False
    return all(factor is not None and abs(factor / first - 1) < _LIKE for factor in factors)


class ScaleProof:
    """Whether gradients of a scaled loss are still as the backward left them: `.data.div_(scale)` leaves no trace."""

    def __init__(self) -> None:
        self.wanted = True  # until a scaler steps: after that everybody knows how it is done here
        self._deposited: Sample | None = None

    def deposited(self, gradients: dict[int, Tensor]) -> None:
        self._deposited = sample(gradients)

    def untouched(self, gradients: dict[int, Tensor]) -> bool:
        told = set(compared(self._deposited, sample(gradients)).values())
        return Likeness.SAME in told and Likeness.OTHER not in told

    def consumed(self, *, scaled: bool) -> None:
        self.wanted = self.wanted and not scaled
        self._deposited = None


def _limit(before: Sample | None, after: Sample | None) -> float | None:
    if before is None or after is None or before.slots != after.slots or before.lengths != after.lengths:
        return None
    try:
        old, new = before.values, after.values
        limit = new.abs().max()
        above = old.abs() > limit
        # Several that were above it, and of different size: one alone may be an outlier that a hand has mended.
        several = bool(above.any()) and bool(old[above].abs().min() < old[above].abs().max())
        return float(limit) if several and torch.equal(old.clamp(-limit, limit), new) else None
    except Exception:  # complex numbers, or nothing that can be read
        return None


def _factor(before: Sample | None, after: Sample | None) -> float | None:
    """The one number by which `after` is a multiple of `before`."""
    if before is None or after is None or before.slots != after.slots or before.lengths != after.lengths:
        return None
    try:
        if torch.equal(before.values, after.values):  # nearly always; and of zeros no factor can be told
            return 1.0
        old, new = before.values.double(), after.values.double()
        peak = int(old.abs().argmax())
        factor = float(new[peak] / old[peak])
        close = (new - old * factor).abs().max() <= 1e-2 * new.abs().max()
        return factor if bool(close) and factor > 0 else None
    except Exception:  # nothing to divide by, or nothing that can be read
        return None
