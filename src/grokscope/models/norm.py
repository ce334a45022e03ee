"""Normalisation without a gain or a bias of its own, and where in a transformer it may stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch

from ..shapes import Float

if TYPE_CHECKING:
    from torch import Tensor

Kind = Literal["layer", "rms"]

EPSILON = 1e-5
"""ε, keeps a normalised vector finite."""

PATHS: dict[str, frozenset[str]] = {
    "none": frozenset(),
    "attention": frozenset({"query-key", "value"}),
    "mlp": frozenset({"mlp"}),
    "both": frozenset({"query-key", "value", "mlp"}),
    "query-key": frozenset({"query-key"}),
    "value": frozenset({"value"}),
}
"""Which paths each placement normalises."""


def normalised(x: Float[Tensor, "... d"], kind: Kind) -> Float[Tensor, "... d"]:
    """N(x)"""
    about = centred(x, kind)
    return about * torch.rsqrt(about.square().mean(-1, keepdim=True) + EPSILON)


def centred(x: Float[Tensor, "... d"], kind: Kind) -> Float[Tensor, "... d"]:
    """x without its mean, for LayerNorm."""
    x = in_full(x)
    return x - x.mean(-1, keepdim=True) if kind == "layer" else x


def in_full(product: Tensor) -> Tensor:
    """A bf16 product in float32: what is summed or exponentiated from here on is not rounded again."""
    return product.float() if product.dtype == torch.bfloat16 else product
