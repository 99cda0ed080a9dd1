"""zerograd: every gradient accounted for.

zerograd.Step      the optimizer step as a transaction            needs torch
zerograd.groups    a stream of micro-batches, cut into steps      needs torch
zerograd.join      several Steps that commit together             needs torch
zerograd.audit     what every step of a live run consumed         needs torch
zerograd.check     the findings in a text                         needs nothing
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from zerograd.core.findings import Finding as Finding
    from zerograd.engine.checkpoint.checkpoints import Checkpoints as Checkpoints
    from zerograd.engine.checkpoint.cursor import Cursor as Cursor
    from zerograd.engine.grouping import groups as groups
    from zerograd.engine.joining import join as join
    from zerograd.engine.step import Step as Step
    from zerograd.errors import CaptureError as CaptureError
    from zerograd.errors import CheckpointError as CheckpointError
    from zerograd.errors import Diverged as Diverged
    from zerograd.errors import FaultFound as FaultFound
    from zerograd.errors import PeerFailed as PeerFailed
    from zerograd.errors import StepError as StepError
    from zerograd.errors import TornStep as TornStep
    from zerograd.errors import ZerogradError as ZerogradError
    from zerograd.run.audit import audit as audit
    from zerograd.source.check import check_text as check  # noqa: F401

# Names are resolved when they are first used: `zerograd check` must not pay for torch.
_HOMES = {
    "CaptureError": "zerograd.errors",
    "CheckpointError": "zerograd.errors",
    "Checkpoints": "zerograd.engine.checkpoint.checkpoints",
    "Cursor": "zerograd.engine.checkpoint.cursor",
    "Diverged": "zerograd.errors",
    "FaultFound": "zerograd.errors",
    "Finding": "zerograd.core.findings",
    "PeerFailed": "zerograd.errors",
    "Step": "zerograd.engine.step",
    "StepError": "zerograd.errors",
    "TornStep": "zerograd.errors",
    "ZerogradError": "zerograd.errors",
    "audit": "zerograd.run.audit",
    "check": "zerograd.source.check:check_text",
    "groups": "zerograd.engine.grouping",
    "join": "zerograd.engine.joining",
}
__all__ = sorted(_HOMES)
# What `%load_ext zerograd` looks for. Not for people, so not exported.
_HOMES |= dict.fromkeys(("load_ipython_extension", "unload_ipython_extension"), "zerograd.attach.notebook")
_NEED_TORCH = ("zerograd.engine", "zerograd.run", "zerograd.attach")


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'zerograd' has no attribute {name!r}")
    from importlib import import_module

    module, _, attribute = home.partition(":")
    try:
        found: object = getattr(import_module(module), attribute or name)
    except (ImportError, AttributeError) as error:
        from zerograd.errors import without_torch

        told = without_torch(f"zerograd.{name}", error) if home.startswith(_NEED_TORCH) else None
        if told is None:
            raise
        raise told from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
