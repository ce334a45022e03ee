"""Checkpoints: tensors by name in a safetensors file, with the run's state and the caller's metadata in its header.

The header also holds a CRC-32 of the whole file (computed with zeros in its own place), since safetensors would not
notice a flipped bit. Checking a file needs no torch; loading its tensors does.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .disk import damaged, read
from .state import State

if TYPE_CHECKING:
    from torch import Tensor

_BLANK = "00000000"


class Header(NamedTuple):
    """What a checkpoint says beside its tensors."""

    state: State
    metadata: dict[str, Any]


class Checkpoint(NamedTuple):
    """All that is needed to go on."""

    epoch: int
    metadata: dict[str, Any]
    """What the caller gave, such as the step or the state of a stop rule."""
    tensors: dict[str, Tensor]
    """On the CPU, bit for bit as they were saved."""


def encode(tensors: Mapping[str, Tensor], state: State, metadata: Mapping[str, Any]) -> bytes:
    """The bytes of a checkpoint file."""
    import torch
    from safetensors.torch import save

    # Views into one big tensor, as the lanes of a fleet are, become tensors of their own.
    own = {name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()}
    header = {"state": json.dumps(state.to_dict()), "metadata": json.dumps(dict(metadata)), "checksum": _BLANK}
    content = save(own, metadata=header)
    return _stamp(content, _BLANK, _crc(content))


def read_header(path: Path) -> Header:
    """State and metadata of a checkpoint, after checking every byte of it."""
    return _check(read(path), path)


def read_checkpoint_file(path: Path) -> Checkpoint:
    from safetensors.torch import load

    content = read(path)
    header = _check(content, path)
    return Checkpoint(header.state.epoch, header.metadata, load(content))


def _check(content: bytes, path: Path) -> Header:
    try:
        text = json.loads(content[8 : _header_end(content)])["__metadata__"]
        intact = _crc(_stamp(content, text["checksum"], _BLANK)) == text["checksum"]
        header = Header(State.from_dict(json.loads(text["state"])), json.loads(text["metadata"]))
    except Exception as error:  # damaged bytes can be anything, and so can the error
        raise damaged(path, f"not a checkpoint: {error!r}") from error
    if not intact:
        raise damaged(path, "its checksum is wrong")
    return header


def _header_end(content: bytes) -> int:
    """A safetensors file is eight bytes with the length of the header, the header (JSON), and the data."""
    return 8 + int.from_bytes(content[:8], "little")


def _stamp(content: bytes, old: str, new: str) -> bytes:
    """The same file with another checksum in its header."""
    end = _header_end(content)
    return content[:end].replace(f'"checksum":"{old}"'.encode(), f'"checksum":"{new}"'.encode(), 1) + content[end:]


def _crc(content: bytes) -> str:
    return f"{zlib.crc32(content):08x}"
