"""What Lightning's own loop calls, and whether the class that it calls is known to the end."""

from zerograd.source.names.opaque import FAMILIAR_BASES
from zerograd.source.names.scopes import Scope
from zerograd.source.values.reading import Reading


def is_known(cls: Scope) -> bool:
    """Whether all that a class inherits can be read, or is torch's or Lightning's own."""
    bases = [(one, base) for one in cls.lineage() for base in one.bases]
    return all(
        base in FAMILIAR_BASES or base.endswith("LightningModule") or one.class_scope(base, derived=True)
        for one, base in bases
    )


def is_training_step(function: Reading) -> bool:
    """Whether Lightning's own loop calls a method, once for every batch."""
    owner = function.scope.owner if getattr(function.node, "name", "") == "training_step" else None
    return owner is not None and any(base.endswith("LightningModule") for cls in owner.lineage() for base in cls.bases)
