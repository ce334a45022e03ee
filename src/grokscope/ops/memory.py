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
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):  # not available on every system
        return 4 << 30


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an operation failed because the memory of its device was exhausted. On a CPU, PyTorch raises a plain RuntimeError."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
