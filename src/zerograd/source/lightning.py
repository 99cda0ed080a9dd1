"""What Lightning's own loop calls: training_step() runs once for every batch, and what it returns is the loss."""

from zerograd.source.reading import Reading


def is_training_step(function: Reading) -> bool:
    owner = function.scope.owner if getattr(function.node, "name", "") == "training_step" else None
    return owner is not None and any(base.endswith("LightningModule") for cls in owner.lineage() for base in cls.bases)
