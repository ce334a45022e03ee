"""Fused GPU kernels behind functions of models/ and optim/. The functions there stay the definition; tests compare the two.

Triton compiles them when they are first used, which takes a C compiler. A machine without one trains with PyTorch's operations.
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_asking = threading.Lock()


def usable_on(device: torch.device) -> bool:
    """Whether the device has kernels."""
    if device.type != "cuda":
        return False
    with _asking:  # fleets side by side ask at the same time
        return _compiled()


@functools.cache
def _compiled() -> bool:
    """Whether Triton can compile here; says so if not."""
    try:
        from .trial import runs

        return runs()
    except Exception as error:
        why = str(error).strip().partition("\n")[0] or type(error).__name__
        print(f"no GPU kernels, going on with PyTorch's operations, some times slower: {why}", file=sys.stderr)
        return False
