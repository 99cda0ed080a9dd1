"""Divergence is not hidden: the first skip is told, and too many in a row are an error."""

import warnings

from zerograd.engine import refusals
from zerograd.engine.record import Record
from zerograd.engine.terms import Terms


def say_skipped(record: Record, terms: Terms, cause: str) -> None:
    """To be called once for every step that was skipped because its gradients were not finite."""
    scaling, known = terms.scaling, record.known
    if terms.nonfinite == "raise":
        raise refusals.not_finite(cause)
    if known.skips_in_a_row >= terms.max_skips and (scaling is None or scaling.is_exhausted()):
        raise refusals.diverged(known.skips_in_a_row)
    if known.skipped == 1 and scaling is None:  # with a loss scale a skip is how it finds its size
        warnings.warn(f"zerograd skipped a step: {cause}", RuntimeWarning, stacklevel=6)
