"""Fused GPU kernels for functions of ops/ and optim/, which remain the reference; tests compare the two.

Triton compiles them on first use, which requires a C compiler. A machine without one falls back to PyTorch operations.
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import TYPE_CHECKING

from . import compilers

if TYPE_CHECKING:
    import torch

_asking = threading.Lock()


def usable_on(device: torch.device) -> bool:
    """Whether the kernels can be used on a device."""
    if device.type != "cuda":
        return False
    with _asking:  # parallel fleets may ask at the same time
        return _compiled()


def try_early(device: torch.device) -> None:
    """Begin to find out whether they can be used, while data are prepared: where nothing is compiled yet it takes seconds."""
    if device.type == "cuda":
        compilers.start()
        threading.Thread(target=_ask, args=(device,)).start()


def _ask(device: torch.device) -> None:
    import torch

    if device.index is not None:
        torch.cuda.set_device(device)  # of this thread
    if not usable_on(device):
        compilers.end()


@functools.cache
def _compiled() -> bool:
    """Whether Triton can compile on this machine; prints the reason if not."""
    try:
        from .trial import runs

        return runs()
    except Exception as error:
        why = str(error).strip().partition("\n")[0] or type(error).__name__
        print(f"GPU kernels are not available, using PyTorch operations instead (slower): {why}", file=sys.stderr)
        return False
