"""How large the weights are: the MLP (the Goldilocks zone is about it), every matrix, and the Lipschitz bound they give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .base import View, measures

if TYPE_CHECKING:
    from torch import Tensor


@measures.register("norms")
def norms(view: View) -> dict[str, Tensor]:
    """How large the weights are.

    l1           sum of the absolute values of all weights
    l2           Euclidean norm of all weights
    mlp_norm     Euclidean norm of the weights of the MLP
    norm_{name}  Frobenius norm of one matrix, such as norm_W_Q
    lipschitz    upper bound on how fast the logits change with the output h of attention
    """
    each = {name: weight.norm() for name, weight in view.weights.items()}
    zero = torch.zeros_like(view.prior_loss)
    mlp = torch.stack([zero, *(each[name] for name, p in view.parameters.items() if p.part == "mlp")])
    found = {
        "l1": torch.stack([weight.norm(1) for weight in view.weights.values()]).sum(),
        "l2": torch.stack(list(each.values())).norm(),
        "mlp_norm": mlp.norm(),
        **{f"norm_{name}": norm for name, norm in each.items()},
    }
    lipschitz = None if view.starvation is None else view.starvation.lipschitz
    return found if lipschitz is None else found | {"lipschitz": lipschitz}
