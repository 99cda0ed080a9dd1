"""Is a scaler updated once after each of its steps, and does it live as long as its optimizer?"""

from collections.abc import Iterator

from zerograd.core.world import Scaling, Unsettled
from zerograd.source.effects.lookup import UNSCALING
from zerograd.source.execute.execution import Execution


def is_ever_unscaled(ex: Execution) -> bool:
    """Whether somebody in the project divides the loss scale out of gradients by himself."""
    return any(name in ex.main.attributes or ex.project.is_named(name, ex.main) for name in UNSCALING)


def unsettled(ex: Execution) -> Iterator[Unsettled]:
    updated = {site for scaler, steps in ex.steps_of_scalers.items() if scaler in ex.updated_scalers for site in steps}
    for site, one in ex.unsettled.items():
        why = Scaling.EARLY if one.early else Scaling.LATE if site in updated else Scaling.NEVER
        yield Unsettled(site, why, one.scaler, one.what, one.certain)
    for scaler in sorted(ex.forgetful):
        made = ex.scalers[scaler]
        yield Unsettled(made.site, Scaling.FORGOTTEN, made.what, "", True)
