"""A run's own clocks: what decay and prior have done by each step, with warm-up and schedules as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.func import vmap

from ....optim.muon import Muon

if TYPE_CHECKING:
    from ....config import RunConfig
    from ....models.base import Role
    from .evidence import Values


def learning_rates(config: RunConfig, last_epoch: int, role: Role = "matrix") -> Values:
    """η of every step up to `last_epoch`, for a weight of this role."""
    per_epoch = config.steps_per_epoch
    when = torch.arange(1, last_epoch * per_epoch + 1, dtype=torch.float64) / per_epoch
    rates: Values = config.optim.rate(when, torch.tensor(float(config.epochs))).double().numpy()
    if type(config.optim) is Muon and role != "matrix":
        rates = rates * (config.optim.adam_lr / config.optim.lr)
    return rates


def prior_speed(config: RunConfig, last_epoch: int) -> Values:
    """ηβ of every step: the learning rate of the attention matrices times the strength of the prior then."""
    rates = learning_rates(config, last_epoch)
    when = torch.arange(len(rates), dtype=torch.float64) / config.steps_per_epoch
    strength: Values = vmap(config.prior.weight)(when).numpy() if len(rates) else np.empty(0)
    return rates * strength


def elapsed(speed: Values, config: RunConfig, epochs: Values) -> Values:
    """Σ of a speed over the steps up to each epoch."""
    total = np.concatenate([[0.0], np.cumsum(speed)])
    return total[(epochs * config.steps_per_epoch).astype(np.int64)]
