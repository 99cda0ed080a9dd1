"""Whether a file may have anything to do with gradients: a look at its text, for spellings of torch's and the
frameworks' own. Most files have none, and are not even parsed."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zerograd.source.project.files import Project

_TORCH = "torch"


def may_train(text: str) -> bool:
    """False only for a text that neither goes backward nor steps, clears, clips, unscales or makes an optimizer."""
    if _TORCH not in text and "zero_grad" not in text and "ightning" not in text and "ccelerat" not in text:
        return False
    # The tables, for files that have to do with torch: the others do not pay for them.
    from zerograd.source.effects.lookup import ACTING, ACTING_WITH_OPTIMIZERS

    if any(word in text for word in ACTING):
        return True
    return "optim" in text and any(word in text for word in ACTING_WITH_OPTIMIZERS)


def trains(text: str, path: str, project: "Project") -> bool:
    """Whether a file trains, or leaves that to a file that it imports."""
    if may_train(text):
        return True
    if _TORCH not in text:
        return False
    from zerograd.source.effects.lookup import names_training

    return any(names_training(other) for other in project.imported_texts(path, text))
