"""Whether a file may have anything to do with gradients: most have not, and are not even parsed."""

from zerograd.source.effects.lookup import names_training
from zerograd.source.project.files import Project
from zerograd.source.text.triggers import may_train


def trains(text: str, path: str, project: Project) -> bool:
    """Whether it names what does something to gradients, or leaves that to a file that it imports."""
    if may_train(text):
        return True
    return "torch" in text and any(names_training(other) for other in project.imported_texts(path, text))
