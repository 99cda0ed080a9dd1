"""Every exception of ours.

ZerogradError
|-- UsageError          a word on the command line, a path or a config key we cannot take: exit 2
|   `-- SourceError     one file that cannot be read as Python; the other files go on
|-- MissingExtra        a part of zerograd that needs a package which is not installed
|-- AuditError          the audit itself is misused (started twice, ...)
|   `-- FaultFound      on_finding="raise": the run did what a rule forbids
|-- CheckpointError     a checkpoint that cannot be saved, or shall not be loaded
`-- StepError           the transaction is misused; nothing was committed
    |-- CaptureError    the step cannot be recorded as one CUDA graph; nothing was touched
    |-- Diverged        too many steps in a row had non-finite gradients
    |-- PeerFailed      another rank failed, and all of them rolled back
    `-- TornStep        optimizer.step() itself raised: the weights may be half updated
"""

import os
import sys


class ZerogradError(Exception):
    """What happened; then why it matters and what to type instead; then where it is explained."""

    def __init__(self, what: str, *, cure: str = "", slug: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.cure = cure
        self.slug = slug

    def __str__(self) -> str:
        lines = [self.what]
        if self.cure:
            lines.append(f"  {self.cure}")
        if self.slug:
            lines.append(f"  See docs/errors.md#{self.slug} (zerograd explain {self.slug})")
        return "\n".join(lines)


class UsageError(ZerogradError):
    """A command line, a path or a configuration that cannot be taken."""


class SourceError(UsageError):
    """A file that cannot be read as Python."""


class MissingExtra(ZerogradError):
    """A package that an optional part of zerograd needs is not installed."""


class AuditError(ZerogradError):
    """The audit is misused."""


class FaultFound(AuditError):
    """A finding of an audit that was asked to raise."""


class CheckpointError(ZerogradError):
    """A checkpoint is damaged or of something else, or something cannot be kept in one; nothing was loaded."""


class StepError(ZerogradError):
    """The transaction is misused; nothing was committed."""


class CaptureError(StepError):
    """The step cannot be recorded as one CUDA graph."""


class Diverged(StepError):
    """Too many steps in a row had non-finite gradients."""


class PeerFailed(StepError):
    """Another rank failed, or is gone; this one has rolled back with it."""


class TornStep(StepError):
    """optimizer.step() raised half-way: the weights are neither old nor new."""


TESTED = "2.13 and 2.11"  # docs/install.md says where
_CURES = {
    "torch": "It uses the torch of its environment, and here is none: install one as pytorch.org says.",
    "matplotlib": "pip install matplotlib",
    "pygls": "pip install pygls",
}


def missing_package(what: str, package: str) -> MissingExtra:
    """An error about a package that `what` needs: its own name is all that pip has to be told."""
    return MissingExtra(f"{what} needs {package}", cure=_CURES[package], slug="missing-extra")


def without_torch(what: str, error: ImportError | AttributeError) -> MissingExtra | None:
    """Why `what` cannot be imported, if it is for want of torch or of something in it: a sentence with its version."""
    if isinstance(error, ModuleNotFoundError) and error.name == "torch":
        return missing_package(what, "torch")
    home = error.name if isinstance(error, ImportError) else getattr(error.obj, "__name__", "")
    if (home or "").partition(".")[0] != "torch":
        return None
    version = getattr(sys.modules.get("torch"), "__version__", "")
    return MissingExtra(
        f"{what} cannot use torch {version}: {error}",
        cure=f"Tested are torch {TESTED}. zerograd check works with any.",
        slug="other-torch",
    )


def unknown(kind: str, given: str, known: list[str], *, slug: str) -> UsageError:
    """An error about a word nobody knows, naming the nearest one that somebody does."""
    import difflib  # 4 ms: paid only by someone who mistyped

    near = [word for word in known if given and word.startswith(given)][:1]
    near = near or difflib.get_close_matches(given, known, n=1, cutoff=0.5)
    if not near:  # a typo in case alone should still find its way
        near = [word for word in known if word.lower() == given.lower()]
    cure = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
    return UsageError(f"unknown {kind} {given!r}", cure=cure, slug=slug)


def missing(kind: str, path: str, *, slug: str) -> UsageError:
    """An error about a path that is not there, naming the nearest one that is."""
    folder, name = os.path.split(path)
    siblings = sorted(os.listdir(folder or ".")) if os.path.isdir(folder or ".") else []
    cure = unknown(kind, name, siblings, slug=slug).cure
    return UsageError(f"no {kind} {path!r}", cure=cure if cure.startswith("Did you mean") else "", slug=slug)
