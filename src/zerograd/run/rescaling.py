"""What hands do to fresh gradients by multiplication: rescaling between two backwards (ZG107), and unscaling (ZG202).

A write into a fresh gradient may be a clip, noise, or a division by N. It is a rescaling when a sample of the values is
the same as before times one number, and a habit when that number comes again within one window.
"""

from torch import Tensor

from zerograd.run.values import Likeness, Sample, compared, sample

_LIKE = 1e-3
_FIRST = 6  # windows that end by a step or a clear, in which samples are taken in any case


class Rescaling:
    def __init__(self) -> None:
        self._watching = True  # take samples: somebody writes into fresh gradients, or it is too early to tell
        self._written = False
        self._windows = 0
        self._deposited: Sample | None = None
        self.factors: list[float] = []  # by which this window was rescaled, in order

    def deposited(self, gradients: dict[int, Tensor]) -> None:
        """A backward is over."""
        self._deposited = sample(gradients) if self._watching else None

    def written(self, gradients: dict[int, Tensor]) -> None:
        """Somebody has written into fresh gradients."""
        self._watching = self._written = True
        now = sample(gradients) if self._deposited is not None else None
        factor = _factor(self._deposited, now)
        self._deposited = None
        if factor is not None and abs(factor - 1) > _LIKE:
            self.factors.append(factor)

    @property
    def watching(self) -> bool:
        return self._watching

    def repeated(self) -> bool:
        """Whether this window was rescaled again and again by the same factor."""
        return len(self.factors) > 1 and all(abs(one / self.factors[0] - 1) < _LIKE for one in self.factors)

    def forget(self) -> None:
        """The window is over."""
        self.factors = []
        self._deposited = None
        self._windows += 1
        self._watching = self._written or self._windows < _FIRST


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


def _factor(before: Sample | None, after: Sample | None) -> float | None:
    """The one number by which `after` is a multiple of `before`."""
    if before is None or after is None or before.slots != after.slots or before.lengths != after.lengths:
        return None
    try:
        old, new = before.values.double(), after.values.double()
        peak = int(old.abs().argmax())
        factor = float(new[peak] / old[peak])
        close = (new - old * factor).abs().max() <= 1e-2 * new.abs().max()
        return factor if bool(close) and factor > 0 else None
    except Exception:  # nothing to divide by, or nothing that can be read
        return None
