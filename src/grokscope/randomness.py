"""Randomness is an argument: every random number of a run is a function of the run's seed and its purpose.

On the host, `stream` gives a generator per purpose. Inside a training step, `Key` gives numbers from counters: a hash of
(seed, step, purpose, place). They need no state and do not depend on the lane or its
neighbours, and a resumed run draws the same numbers.
"""

from __future__ import annotations

import functools
import hashlib
import math
from typing import TYPE_CHECKING, NamedTuple

from .ops.triton import usable_on

if TYPE_CHECKING:
    from torch import Generator, Tensor

_MASK = (1 << 31) - 1


def stream(seed: int, purpose: str) -> Generator:
    """An independent generator for one purpose of one run."""
    import torch

    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") & ((1 << 63) - 1))


class Key(NamedTuple):
    """Source of randomness inside a step: numbers are a hash of the run's seed, the step, the purpose and the place."""

    seed: Tensor
    step: Tensor
    folded: tuple[str, ...] = ()
    """Purposes that it is for, the widest first."""

    def fold(self, purpose: str) -> Key:
        """An independent key for one purpose, such as one weight of many."""
        return self._replace(folded=(*self.folded, purpose))

    def uniform(self, purpose: str, shape: tuple[int, ...]) -> Tensor:
        """Numbers in (0, 1), one for each place of `shape`.

        Xor-shift-multiply on 31-bit words keeps every product inside int64, so that all devices give the same numbers.
        """
        import torch

        if self._has_kernel:
            from .ops.hashed import hashed

            return hashed(*self._for_kernel(purpose), shape, normal=False)
        place = torch.arange(math.prod(shape), device=self.seed.device).view(shape)
        return (_mix(self._root(purpose) + place & _MASK).to(torch.float32) + 0.5) / float(1 << 31)

    def normal(self, purpose: str, shape: tuple[int, ...]) -> Tensor:
        """Standard normal numbers (Box–Muller on two counters)."""
        import torch

        if self._has_kernel:
            from .ops.hashed import hashed

            return hashed(*self._for_kernel(purpose), shape, normal=True)
        u = self.uniform(purpose, (2, *shape)).clamp(1e-7, 1 - 1e-7)
        return torch.sqrt(-2 * torch.log(u[0])) * torch.cos(2 * torch.pi * u[1])

    def _root(self, purpose: str) -> Tensor:
        """What the places of one purpose are hashed with."""
        return _mix(_folded(self.seed, self._words(purpose)) + self.step.long() & _MASK)

    def _for_kernel(self, purpose: str) -> tuple[Tensor, Tensor, tuple[int, ...]]:
        """Seed, step, and words that the kernel hashes by itself."""
        from .ops.hashed import MOST_WORDS

        words = self._words(purpose)
        return _folded(self.seed, words[:-MOST_WORDS]), self.step, words[-MOST_WORDS:]

    def _words(self, purpose: str) -> tuple[int, ...]:
        return tuple(map(_word, (*self.folded, purpose)))

    @property
    def _has_kernel(self) -> bool:
        return self.seed.is_cuda and usable_on(self.seed.device)


@functools.cache
def _word(purpose: str) -> int:
    """A 31-bit number for a purpose."""
    return int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:4], "little") & _MASK


def _folded(seed: Tensor, words: tuple[int, ...]) -> Tensor:
    own = seed.long()
    for word in words:
        own = _mix(_mix(own & _MASK) + word & _MASK)
    return own


def _mix(word: Tensor) -> Tensor:
    for shift, factor in ((16, 0x45D9F3B), (15, 0x2C1B3C6D), (16, 1)):
        word = ((word ^ (word >> shift)) * factor) & _MASK
    return word
