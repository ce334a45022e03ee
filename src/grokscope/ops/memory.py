"""Memory: how much is free, and reuse of freed memory.

Every step on a CPU frees and takes the same large tensors; by default the C library returns them to the system each time, and
the page faults cost up to a quarter of a step.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path

import torch

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8


def keep_freed_memory() -> bool:
    """Make glibc keep up to a gigabyte of freed memory; False with another C library, where nothing changes."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return False
    # one arena: those of other threads return their memory regardless
    options = {_MMAP_THRESHOLD: 1 << 30, _TRIM_THRESHOLD: 1 << 30, _ARENA_MAX: 1}
    accepted = [mallopt(option, value) for option, value in options.items()]
    return all(accepted)


def free_memory(device: torch.device) -> int:
    """Free memory of the GPU or of the machine, in bytes."""
    if device.type == "cuda":
        gc.collect()
        torch.cuda.empty_cache()  # release the memory of earlier fleets
        return torch.cuda.mem_get_info(device)[0]
    limits = (_available(), _left_in_group(), _left_in_process())
    return max(0, min((limit for limit in limits if limit is not None), default=4 << 30))


def _available() -> int | None:
    """Memory of the machine that is free or can be freed; None where the system does not say."""
    return _kilobytes(Path("/proc/meminfo"), "MemAvailable:")


def _left_in_group(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What the limit of a container leaves (control groups v2); None without a limit."""
    try:
        most, used = (int((folder / f"memory.{name}").read_text()) for name in ("max", "current"))
        reclaimable = next(
            int(line.split()[1])
            for line in (folder / "memory.stat").read_text().splitlines()
            if line.startswith("inactive_file ")
        )
    except (OSError, ValueError, StopIteration):
        return None
    return most - used + reclaimable


def _left_in_process() -> int | None:
    """What `ulimit -v` leaves; None without a limit."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    used = _kilobytes(Path("/proc/self/status"), "VmSize:")
    return None if most == resource.RLIM_INFINITY or used is None else most - used


def _kilobytes(file: Path, name: str) -> int | None:
    """The entry of a file of /proc, in bytes."""
    try:
        lines = file.read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))
    except (OSError, ValueError, StopIteration):  # not available on every system
        return None


_REFUSALS = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "ALLOC_FAILED",
    "size calculation overflowed",
)
"""What PyTorch's allocators say when memory does not suffice; on a CPU it is a plain RuntimeError."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory does not suffice, on a GPU or on a CPU."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _REFUSALS)
