"""Clipping: a gradient of large norm is scaled down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


def clip_scale(norm: Tensor, limit: Tensor | float) -> Tensor:
    """Factor that brings a gradient of `norm` down to `limit`; 1 where the limit is 0 (as torch.nn.utils.clip_grad_norm_)."""
    limit = torch.as_tensor(limit)
    return torch.where(limit > 0, torch.clamp(limit / (norm + 1e-6), max=1.0), torch.ones_like(norm))
