"""Checkpoints: tensors by name in a safetensors file, with the run's state and the caller's metadata in its header.

The file is sealed with a checksum. Checking it and reading its header need no torch; loading its tensors does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .disk import DamageError
from .layout import CHECKPOINTS, CheckpointFile, checkpoint_file
from .layout import label as label_of
from .seal import BLANK, read_sealed, sealed
from .state import State

if TYPE_CHECKING:
    from torch import Tensor


_KINDS = {
    "bool": "BOOL",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
}
"""Types of tensors, and their names in a file."""


class Checkpoint(NamedTuple):
    """Everything needed to continue a run."""

    epoch: int
    metadata: dict[str, Any]
    """Metadata of the caller, such as the step or the state of a stop rule."""
    tensors: dict[str, Tensor]
    """On the CPU, bit for bit as they were saved."""


def encode(tensors: Mapping[str, Tensor], state: State, metadata: Mapping[str, Any], label: str) -> bytes:
    """The bytes of a checkpoint file, sealed."""
    header = {"state": _text(state.to_dict()), "metadata": _text(dict(metadata)), "checksum": BLANK}
    return sealed(_safetensors(tensors, header), label)


def read_state_of(path: Path) -> State:
    """The state that a checkpoint was saved with, after checking every byte of the file."""
    return State.from_dict(json.loads(_header(read_sealed(path, label_of(path)))["state"]))


def read_checkpoint_file(path: Path) -> Checkpoint:
    from safetensors.torch import load

    content = read_sealed(path, label_of(path))
    header, tensors = _header(content), load(content)
    # in a fixed order: safetensors gives another one in every process, and random numbers would go to other weights
    ordered = {name: tensors[name] for name in sorted(tensors)}
    return Checkpoint(json.loads(header["state"])["epoch"], json.loads(header["metadata"]), ordered)


def check_kept(run: Path, found: Iterable[CheckpointFile], state: State) -> None:
    """Raise StoreError if a checkpoint that the state names, a kept one or the newest, is not among those found."""
    files = list(found)
    kept = {file.epoch for file in files if file.kept}
    for epoch in state.kept:
        if epoch not in kept:
            raise DamageError(f"{checkpoint_file(run, epoch, kept=True).path}: missing")
    # A run that trains may have saved a newer one, and dropped this one, since its state was read.
    if (state.epoch or state.rows) and not any(file.epoch >= state.epoch for file in files):
        raise DamageError(f"{run / CHECKPOINTS}: the checkpoint of epoch {state.epoch} is missing")


def _safetensors(tensors: Mapping[str, Tensor], metadata: dict[str, str]) -> bytes:
    """The bytes that `safetensors.torch.save` would write. It takes four times as long, some ten microseconds for each tensor, and
    wants a copy of tensors that share memory, as those of a lane do. The widest types come first: all are aligned."""
    import torch

    header: dict[str, Any] = {"__metadata__": metadata}
    data, end = [], 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0])):
        data.append(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
        begin, end = end, end + len(data[-1])
        kind = _KINDS[str(tensor.dtype).removeprefix("torch.")]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join((len(text).to_bytes(8, "little"), text, *data))


def _text(plain: dict[str, Any]) -> str:
    # JSON may escape any character: used here for text that could be mistaken for the seal.
    return json.dumps(plain).replace("crc32=", "crc32\\u003d")


def _header(content: bytes) -> dict[str, str]:
    """The metadata of a safetensors file: eight bytes with the length of the header, the header (JSON), the data."""
    end = 8 + int.from_bytes(content[:8], "little")
    metadata: dict[str, str] = json.loads(content[8:end])["__metadata__"]
    return metadata
