"""torch.compile and the Step: the functions of the user are compiled, those of the Step are not."""

import os
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from zerograd.engine.step import Step

_DYNAMO = os.path.join("torch", "_dynamo", "")


def compiled_around(step: "Step", fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn`, compiled up to each call of the Step and on from there.

    To trace a deposit would be to trace the engine and what it guards: none of it is arithmetic.
    """
    # On the instance, and only now: the decorator imports the compiler, which takes a second.
    step.backward = torch.compiler.disable(type(step).backward.__get__(step))  # type: ignore[method-assign, no-untyped-call]
    step.micro_batches = torch.compiler.disable(type(step).micro_batches.__get__(step))  # type: ignore[method-assign, no-untyped-call]
    return torch.compile(fn)


def calling(frame: FrameType) -> FrameType:
    """The frame of the user's that this one is called from: the compiler puts its own in between."""
    while _DYNAMO in frame.f_code.co_filename and frame.f_back is not None:
        frame = frame.f_back
    return frame
