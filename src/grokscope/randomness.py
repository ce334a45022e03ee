"""Randomness is an argument: everything random in a run follows from the run's own seed and what it is for.

On the host, `stream` gives a generator per purpose. Inside a training step, numbers come from counters: a hash of
(seed, step, place). They need no state, do not depend on the lane or the neighbours, and a resumed run draws the same ones.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Generator, Tensor

_MASK = (1 << 31) - 1


def stream(seed: int, purpose: str) -> Generator:
    """An independent generator for one purpose of one run."""
    import torch

    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") & ((1 << 63) - 1))


def counter_uniform(seed: Tensor, step: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Numbers in (0, 1), one for each place of `shape`, from (seed, step, place) by integer mixing.

    Xor-shift-multiply on 31-bit words keeps every product inside int64, so that all devices give the same numbers.
    """
    import torch

    place = torch.arange(math.prod(shape), device=seed.device).view(shape)
    word = _mix(_mix(_mix(seed.long() & _MASK) + step.long() & _MASK) + place & _MASK)
    return (word.to(torch.float32) + 0.5) / float(1 << 31)


def counter_normal(seed: Tensor, step: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Standard normal numbers (Box–Muller on two counters)."""
    import torch

    u = counter_uniform(seed, step, (2, *shape)).clamp(1e-7, 1 - 1e-7)
    return torch.sqrt(-2 * torch.log(u[0])) * torch.cos(2 * torch.pi * u[1])


def _mix(word: Tensor) -> Tensor:
    for shift, factor in ((16, 0x45D9F3B), (15, 0x2C1B3C6D), (16, 1)):
        word = ((word ^ (word >> shift)) * factor) & _MASK
    return word
