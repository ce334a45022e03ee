"""How large the weights are: the MLP (the Goldilocks zone is about it), every matrix, and the Lipschitz bound they give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .base import View, measures

if TYPE_CHECKING:
    from torch import Tensor


@measures.register("norms")
def norms(view: View) -> dict[str, Tensor]:
    each = {name: weight.norm() for name, weight in view.weights.items()}
    zero = torch.zeros((), device=view.lipschitz.device)
    mlp = torch.stack([zero, *(each[name] for name, p in view.parameters.items() if p.part == "mlp")])
    return {
        "mlp_norm": mlp.norm(),
        "lipschitz": view.lipschitz,
        **{f"norm_{name}": norm for name, norm in each.items()},
    }
