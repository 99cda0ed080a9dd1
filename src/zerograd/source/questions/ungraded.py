"""Can an optimizer move all that it was given? A tensor that takes no gradient stays where it is."""

from collections.abc import Iterator

from zerograd.core.events import Site
from zerograd.source.execute.execution import Execution


def ungraded(ex: Execution) -> Iterator[Site]:
    """Where an optimizer that learns from a loss was given a tensor that nobody tells to take a gradient."""
    learning = set().union(*ex.tables.owners.values())
    for identity, (site, optimizer) in ex.ungraded.items():
        if identity not in ex.tables.asked_for_gradient and optimizer in learning:
            yield site
