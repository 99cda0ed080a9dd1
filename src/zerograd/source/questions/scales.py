"""Is a scaler told of every step, once each, and does it live as long as its optimizer?"""

from collections.abc import Iterator
from typing import NamedTuple

from zerograd.core.events import Site
from zerograd.source.effects.lookup import UNSCALING
from zerograd.source.execute.execution import Execution


class Forgotten(NamedTuple):
    site: Site
    what: str  # the whole sentence
    certain: bool
    cure: str = ""  # where it is not the rule's own


def is_ever_unscaled(ex: Execution) -> bool:
    """Whether somebody in the project divides the loss scale out of gradients by himself."""
    return any(name in ex.main.attributes or ex.project.is_named(name, ex.main) for name in UNSCALING)


def never_updated(ex: Execution) -> Iterator[Forgotten]:
    updated = {site for scaler, steps in ex.steps_of_scalers.items() if scaler in ex.updated_scalers for site in steps}
    for site, one in ex.unsettled.items():
        if one.early:
            what = f"{one.scaler} moves the scale in every micro-batch, while {one.what} waits for the group"
        elif site in updated:
            what = f"{one.what} runs again before {one.scaler}.update() has run: then it raises"
        else:
            what = f"{one.what} is called, and {one.scaler}.update() never is"
        yield Forgotten(site, what, one.certain)
    for scaler in sorted(ex.forgetful):
        made = ex.scalers[scaler]
        what = f"{made.what} makes a new scaler in every iteration: the scale that was found is forgotten"
        yield Forgotten(made.site, what, True, "make the scaler once, before the loop, and keep it")
