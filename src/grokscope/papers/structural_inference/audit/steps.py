"""How far an optimizer can move a weight in one step: sup‖U‖ of App. B for the optimizers of this project."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from ....optim.adamw import AdamW
from ....optim.lion import Lion
from ....optim.muon import Muon
from ....optim.sgd import SGD
from ..equations import adamw_step_bound_exact, effective_decay, lion_step_bound, muon_step_bound

if TYPE_CHECKING:
    from ....models import Parameter
    from ....optim import Optimizer


def obstacle(optim: Optimizer) -> str:
    """Why Def. 3.2 cannot be checked for this optimizer; empty where it can."""
    kind = type(optim)
    if kind not in (SGD, AdamW, Muon, Lion):
        return f"no step bound is known for optimizer {optim.kind}"
    if not 0 < (decay := float(effective_decay(optim.lr, optim.weight_decay))) < 1:
        return f"λ = η·wd = {decay:g} is not between 0 and 1"
    if isinstance(optim, SGD) and optim.momentum:
        return "Prop. B.1 is about SGD without momentum"
    if isinstance(optim, SGD) and not optim.clip:
        return "without clipping the gradient of SGD has no bound"
    if isinstance(optim, AdamW) and optim.beta1**2 >= optim.beta2:
        return f"with β₁² ≥ β₂ ({optim.beta1:g}, {optim.beta2:g}) a step of AdamW has no bound"
    return ""


def step_bound(optim: Optimizer, parameter: Parameter) -> float:
    """Largest Frobenius norm of a step U on one weight, before the learning rate.

    SGD: the gradient of the whole run is clipped, so the part on one weight is no larger. The fields of Muon's own part
    hold for matrices; what is not a matrix it updates as AdamW does.
    """
    entries = float(math.prod(parameter.shape))
    if isinstance(optim, SGD):
        return optim.clip
    if isinstance(optim, Lion):
        return float(lion_step_bound(entries))
    if isinstance(optim, Muon) and parameter.role == "matrix":
        scale = optim.scale(torch.empty(parameter.shape, device="meta"))
        return float(muon_step_bound(float(min(parameter.shape)), scale))
    assert isinstance(optim, AdamW)
    return float(adamw_step_bound_exact(entries, optim.beta1, optim.beta2))
