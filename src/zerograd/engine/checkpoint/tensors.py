"""Tensors through torch.distributed.checkpoint: each rank writes what it has, and reads what it needs.

What torch writes beside them is a pickle. It is read here by an unpickler that knows the few classes of which such a
file is made and refuses every other name, so that no file can make us run code. Tensors themselves are read by torch
with `weights_only`; anything that is not a tensor is never written, and never read.
"""

import errno
import os
import pickle
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from zerograd.engine.checkpoint import refusals

_HEADS = 2**16  # bytes that torch writes around the tensors, and more
_METADATA = "torch.distributed.checkpoint.metadata"
_KNOWN = {
    (_METADATA, "ChunkStorageMetadata"),
    (_METADATA, "Metadata"),
    (_METADATA, "MetadataIndex"),
    (_METADATA, "StorageMeta"),
    (_METADATA, "TensorProperties"),
    (_METADATA, "TensorStorageMetadata"),
    (_METADATA, "_MEM_FORMAT_ENCODING"),
    ("torch.distributed.checkpoint.filesystem", "_StorageInfo"),
    ("torch.serialization", "_get_layout"),
    ("torch", "Size"),
    ("pathlib", "PosixPath"),
    ("pathlib", "WindowsPath"),
    ("pathlib._local", "PosixPath"),
    ("pathlib._local", "WindowsPath"),
}


class Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = (module, name) in _KNOWN
        if found or (module == "torch" and isinstance(getattr(torch, name, None), torch.dtype)):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it names {module}.{name}")


def metadata_of(folder: Path) -> Metadata:
    with (folder / ".metadata").open("rb") as file:
        return _metadata(folder, file)


def _metadata(folder: Path, file: BinaryIO) -> Metadata:
    try:
        metadata = Unpickler(file).load()
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, ValueError, TypeError) as error:
        raise refusals.damaged(folder.name, f".metadata is not what torch writes ({error})") from None
    if not isinstance(metadata, Metadata):
        raise refusals.damaged(folder.name, ".metadata is not what torch writes")
    for name, stored in metadata.state_dict_metadata.items():
        if not isinstance(stored, TensorStorageMetadata):
            raise refusals.damaged(folder.name, f"{name} is not a tensor")
    return metadata


class _Reader(FileSystemReader):
    def __init__(self, folder: Path, metadata: Metadata) -> None:
        super().__init__(folder)
        self._metadata = metadata

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        return self._metadata


def write(folder: Path, tensors: Mapping[str, Tensor], group: dist.ProcessGroup | None) -> None:
    """Of all ranks together: what two of them name alike is written once, what is sharded in its parts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is disabled")
        # Not flattened by the planner: the names are paths already, and say what they say.
        try:
            save(
                dict(tensors),
                storage_writer=FileSystemWriter(folder),
                planner=DefaultSavePlanner(flatten_state_dict=False),
                process_group=group,
                no_dist=group is None,
            )
        except (Exception, CheckpointException) as error:
            if not _has_space(folder, tensors):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder)) from error
            raise


def _has_space(folder: Path, tensors: Mapping[str, Tensor]) -> bool:
    """Whether all of it has, or would have had, room. torch only says at which position its file has ended."""
    try:
        written = sum(file.stat().st_size for file in folder.iterdir())
        return shutil.disk_usage(folder).free + written > sum(tensor.nbytes for tensor in tensors.values()) + _HEADS
    except OSError:
        return True


def read(folder: Path, metadata: Metadata, into: dict[str, Tensor], group: dist.ProcessGroup | None) -> None:
    """Fill the tensors of `into`, each under its name, however many ranks wrote them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is disabled")
        load(
            dict(into),
            storage_reader=_Reader(folder, metadata),
            planner=DefaultLoadPlanner(flatten_state_dict=False),
            process_group=group,
            no_dist=group is None,
        )


def rooms(folder: Path, metadata: Metadata, like: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
    """Empty tensors for what is stored: sharded as `like` says, if it has that shape, else whole and on the CPU.

    In the order in memory that `like` has: a fused optimizer takes state and parameter for the same order.
    """
    made: dict[str, Tensor] = {}
    for name, pattern in like.items():
        stored = metadata.state_dict_metadata.get(name)
        if not isinstance(stored, TensorStorageMetadata):
            raise refusals.damaged(folder.name, f"it has no {name}")
        if sum(chunk.sizes.numel() for chunk in stored.chunks) < stored.size.numel():
            raise refusals.damaged(folder.name, f"parts of {name} are missing")  # torch would leave a hole
        dtype = stored.properties.dtype
        if pattern is None or pattern.layout is not torch.strided or pattern.shape != stored.size:
            made[name] = torch.empty(stored.size, dtype=dtype)
        elif hasattr(pattern, "device_mesh"):
            made[name] = torch.empty_like(pattern, dtype=dtype)
        else:
            ordered = torch.empty_strided(pattern.shape, pattern.stride(), device="meta")
            made[name] = torch.empty_like(ordered, dtype=dtype, device="cpu")
    return made
