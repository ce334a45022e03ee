"""Periodic weights: the discrete Fourier transform of each neuron and its entropy (grokking tickets, §5.3 and App. F).

The paper prints both formulas twice and differently; here are App. F's, with its normalised spectrum p in place of F. Its
frequencies run over 0 … ⌊N/2⌋, which are 34 for N = 67 and not the 33 it counts. "Normalised" is taken as |F| over its sum.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..shapes import Float
from .contracts import nonnegative
from .equations import equation


@equation("grokking-tickets", "App. F, F(ω)", tex=r"F(\omega) = \sum_{x=0}^{N-1} f(x) e^{-2 \pi i \omega x / N}")
def fourier_transform(weights: Float[Tensor, "... input"]) -> Float[Tensor, "... input"]:
    """The spectrum of a neuron's weights over its N inputs, complex, at the frequencies 0 … N−1.

    F(ω) = Σ_x f(x) exp(−2πi ω x / N)

    f  weights  of one neuron on every input token
    """
    return torch.fft.fft(weights)


@equation(
    "grokking-tickets",
    "App. F, FE",
    tex=r"\mathrm{FE} = -\frac{1}{K} \sum_{i=1}^{K} \sum_{\omega=0}^{\lfloor N/2 \rfloor} p_i(\omega) \log p_i(\omega),"
    r" \quad p_i(\omega) = \frac{\lvert F_i(\omega) \rvert}{\sum_{\omega^\prime} \lvert F_i(\omega^\prime) \rvert}",
)
def fourier_entropy(amplitudes: Float[Tensor, "... neuron frequency", nonnegative]) -> Float[Tensor, "..."]:
    """How many frequencies the neurons use: low when each has found its own.

    FE = −(1/K) Σ_i Σ_ω p_i(ω) log p_i(ω), p_i = |F_i| / Σ|F_i|, ω = 0 … ⌊N/2⌋

    |F_i|  amplitudes  of K neurons at the frequencies 0 … ⌊N/2⌋; a dead neuron counts 0
    """
    share = amplitudes / amplitudes.sum(-1, keepdim=True).clamp_min(torch.finfo(amplitudes.dtype).tiny)
    return -torch.special.xlogy(share, share).sum(-1).mean(-1)
