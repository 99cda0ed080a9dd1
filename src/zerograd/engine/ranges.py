"""Named ranges for profilers: what a Step does stands in their traces, beside the kernels that it starts.

torch.profiler, and whatever reads its Chrome traces, shows a record_function. nsys knows nothing of those: for it the
same name is an NVTX range, where the gradients lie on a GPU.
"""

from contextlib import nullcontext
from types import TracebackType

import torch
from torch.autograd.profiler import record_function


class Range:
    __slots__ = ("_name", "_nvtx", "_record")

    def __init__(self, name: str, *, nvtx: bool) -> None:
        self._name, self._nvtx = f"zerograd.{name}", nvtx
        self._record = record_function(self._name)

    def __enter__(self) -> None:
        self._record.__enter__()  # type: ignore[no-untyped-call]
        if self._nvtx:
            torch.cuda.nvtx.range_push(self._name)  # type: ignore[no-untyped-call]

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._nvtx:
            torch.cuda.nvtx.range_pop()  # type: ignore[no-untyped-call]
        self._record.__exit__(kind, error, tb)


_NONE = nullcontext()


def ranged(name: str, *, wanted: bool, on_cuda: bool) -> Range | nullcontext[None]:
    """`with ranged("clip", ...)`: a range `zerograd.clip`, if the Step was asked for ranges."""
    return Range(name, nvtx=on_cuda) if wanted else _NONE
