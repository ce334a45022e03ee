"""How periodic masks are over the tokens (grokking tickets, App. K, Figures 20 and 21), before any step is taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd
import torch

from ..measures.fourier import amplitudes
from ..randomness import stream
from ..theory import fourier_entropy
from .base import StoredRun, probes
from .checkpoints import at_least

if TYPE_CHECKING:
    from torch import Tensor

    from ..shapes import Bool

SHUFFLES = 20
"""Random masks that the entropy is compared with."""
COLUMNS = ("layer", "entropy", "shuffled", "excess", "kept")


@probes.register("mask-entropy")
def mask_entropy(run: StoredRun) -> pd.DataFrame:
    """Fourier entropy of a run's masks over the operands: one row for what reads them (W_E), one for what writes the classes (W_U).

    Each embedding dimension is a function of the operand with values 0 and 1. Its constant part is left out: it is the share
    that is kept. `shuffled` is the mean entropy of masks whose dimensions keep as many weights at random operands, `excess` the
    entropy less that: below 0 for periodic masks. No rows for a run without masks, or whose weights have no tokens.
    """
    mask = run.network(at_least(run, 1)[-1]).mask
    classes = run.config.task.shape.classes
    sides = {name: side for name, side in _sides(mask, classes).items() if 0 < side.float().mean() < 1}
    rows = []
    for layer, side in sides.items():
        entropy = _entropy(side)
        shuffles = [_entropy(_shuffled(side, stream(number, "mask"))) for number in range(SHUFFLES)]
        shuffled = sum(shuffles) / SHUFFLES
        rows.append((layer, entropy, shuffled, entropy - shuffled, float(side.float().mean())))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _sides(mask: Mapping[str, Tensor], classes: int) -> dict[str, Bool[Tensor, "dimension operand"]]:
    """The masks of embedding and unembedding, one row per dimension. The operands are the first tokens, one per class."""
    found = {"W_E": mask["W_E"][:classes].T} if "W_E" in mask else {}
    return found | ({"W_U": mask["W_U"]} if "W_U" in mask else {})


def _entropy(side: Bool[Tensor, "dimension operand"]) -> float:
    """Fourier entropy of the dimensions that are neither empty nor full, without the constant part."""
    varied = side[side.any(1) & ~side.all(1)]
    return float(fourier_entropy(amplitudes(varied.double())[:, 1:]))


def _shuffled(side: Tensor, generator: torch.Generator) -> Tensor:
    """Every dimension with its entries in random order."""
    return side.gather(1, torch.rand(side.shape, generator=generator).argsort(1))
