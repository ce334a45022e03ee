"""How periodic the hidden neurons are: the Fourier entropy of what they read and write (grokking tickets, §5.3 and App. F)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from ..shapes import Float
from ..theory import fourier_entropy
from .base import View, measures

if TYPE_CHECKING:
    from torch import Tensor


@measures.register("fourier")
def fourier(view: View) -> dict[str, Tensor]:
    """Fourier entropy of what the hidden neurons read from the operands and write to the classes.

    Nothing for a model whose neurons have no weights on tokens. The operands are the first tokens, as many as there are
    classes; "=" and distractors do not count.

    fourier_entropy_in    entropy of the spectrum of what a hidden neuron reads, averaged over neurons; low for periodic neurons
    fourier_entropy_out   the same of what it writes
    """
    neurons = view.neurons
    if neurons is None:
        return {}
    count = neurons.writes.shape[1]
    both = waves(count, neurons.writes.device)
    return {
        "fourier_entropy_in": fourier_entropy(amplitudes(neurons.reads[:, :count], both)),
        "fourier_entropy_out": fourier_entropy(amplitudes(neurons.writes, both)),
    }


def amplitudes(
    weights: Float[Tensor, "neuron input"], known: tuple[Tensor, Tensor] | None = None
) -> Float[Tensor, "neuron frequency"]:
    """|F(ω)| of every neuron at ω = 0 … ⌊N/2⌋.

    As products with cosines and sines: an FFT may allocate where a CUDA graph is recorded. In float64, which no TF32 rounds.

    known   the `waves`, if several sets of weights share them
    """
    cosines, sines = known or waves(weights.shape[-1], weights.device)
    wide = weights.double()
    return torch.hypot(wide @ cosines, wide @ sines).to(weights.dtype)


def waves(
    count: int, device: torch.device
) -> tuple[Float[Tensor, "input frequency"], Float[Tensor, "input frequency"]]:
    """Cosine and sine of 2π ω n / N for N inputs n, at ω = 0 … ⌊N/2⌋."""
    place = torch.arange(count, device=device)
    angle = (2 * math.pi / count) * (torch.outer(place, place[: count // 2 + 1]) % count).double()
    return angle.cos(), angle.sin()
