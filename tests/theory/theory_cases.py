"""Random cases for the theory: everything is drawn in float64 from one seed, which hypothesis chooses."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor

from grokscope.theory import spectral_norm, two_layer_lipschitz

seeds = st.integers(0, 2**31)
some = settings(max_examples=30)
"""Each seed is a batch of cases, so a few seeds are many cases."""

CASES = 16


class Draw:
    """Tensors from a seed, `CASES` of each kind, of sizes and scales that differ from seed to seed."""

    def __init__(self, seed: int):
        self.generator = torch.Generator().manual_seed(seed)
        self.positions = self.whole(2, 7)
        self.width = self.whole(1, 5)

    def whole(self, low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def normal(self, *shape: int) -> Tensor:
        """Normal numbers times a common scale between 0.1 and 10."""
        scale = 10 ** (2 * torch.rand((), generator=self.generator, dtype=torch.float64) - 1)
        return scale * torch.randn(CASES, *shape, generator=self.generator, dtype=torch.float64)

    def share(self, *shape: int) -> Tensor:
        return torch.rand(CASES, *shape, generator=self.generator, dtype=torch.float64)

    def positive(self, *shape: int) -> Tensor:
        return self.normal(*shape).abs() + 1e-3

    def attention(self, *shape: int) -> Tensor:
        """Distributions over the last axis, from flat to sharp."""
        return torch.softmax(self.normal(*(shape or (self.positions,))), -1)

    def values(self) -> Tensor:
        return self.normal(self.positions, self.width)

    def position(self) -> Tensor:
        return torch.randint(0, self.positions, (CASES,), generator=self.generator)

    def informative(self, *, spare: bool = False) -> Tensor:
        """At least one position; with `spare`, not all of those before the query."""
        mask = self.share(self.positions) < 0.5
        mask[:, 0] = True
        if spare:
            mask[:, -2] = False
        return mask


class LemmaCase(NamedTuple):
    """A batch through attention and MLP, with gradients from autograd."""

    attention: Tensor
    values: Tensor
    pooled: Tensor
    value_norm: Tensor
    embedding_norm: Tensor
    lipschitz: Tensor
    residual: Tensor
    cross_entropy: Tensor
    on_pooled: Tensor
    on_logits: Tensor

    @property
    def gap(self) -> Tensor:
        return (self.values - self.pooled[:, None]).norm(dim=-1)


def lemma_case(seed: int) -> LemmaCase:
    draw = Draw(seed)
    d, hidden, classes = draw.width, draw.whole(1, 8), draw.whole(2, 6)
    logits, embeddings, W_V = draw.normal(draw.positions).requires_grad_(), draw.values(), draw.normal(d, d)
    W_in, W_out = draw.normal(d, hidden), draw.normal(hidden, classes)
    labels = torch.randint(0, classes, (CASES,), generator=draw.generator)
    attention, values = torch.softmax(logits, -1), embeddings @ W_V
    h = (attention[..., None] * values).sum(-2)
    answers = (torch.relu(h[:, None] @ W_in) @ W_out)[:, 0]
    loss = F.cross_entropy(answers, labels, reduction="none")
    on_pooled, on_logits = torch.autograd.grad(loss.sum(), (h, logits))
    residual = (torch.softmax(answers, -1) - F.one_hot(labels, classes)).detach()
    norms = spectral_norm(W_V), embeddings.norm(dim=-1).amax(-1), two_layer_lipschitz(W_in, W_out)
    return LemmaCase(attention.detach(), values, h.detach(), *norms, residual, loss.detach(), on_pooled, on_logits)


def below(small: Tensor, large: Tensor) -> bool:
    """≤ up to rounding; a loss of 1e-12 knows its root to 1e-2 of itself only."""
    return bool((small <= large * (1 + 1e-9) + 1e-12 * (1 + large.amax())).all())
