"""Real training with each optimizer: the contraction inequality at every step, for every weight."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from grokscope.config import RunConfig
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.optim import Optimizer
from grokscope.optim.adamw import AdamW
from grokscope.optim.lion import Lion
from grokscope.optim.muon import Muon
from grokscope.optim.sgd import SGD
from grokscope.papers.structural_inference.equations import (
    adamw_step_bound_exact,
    contraction_bound,
    decoupled_growth,
    effective_decay,
    lion_step_bound,
    muon_step_bound,
    sgd_growth,
)

Shape = tuple[int, ...]
Growth = Callable[[Shape, str, float], float]
"""ρ̄ of a weight of some shape and role at a learning rate."""


def sgd(shape: Shape, role: str, lr: float) -> float:
    return sgd_growth(lr, 1.0, 1.0)  # the gradient of a whole run is clipped to norm 1


def adamw(shape: Shape, role: str, lr: float) -> float:
    return decoupled_growth(lr, 1.0, adamw_step_bound_exact(math.prod(shape), 0.9, 0.98)).item()


def muon(shape: Shape, role: str, lr: float) -> float:
    if role != "matrix":
        return decoupled_growth(lr, 1.0, adamw_step_bound_exact(math.prod(shape), 0.9, 0.999)).item()
    scale = math.sqrt(max(1, shape[1] / shape[0]))
    return decoupled_growth(lr, 1.0, muon_step_bound(min(shape), scale))


def lion(shape: Shape, role: str, lr: float) -> float:
    return decoupled_growth(lr, 1.0, lion_step_bound(math.prod(shape)))


OPTIMIZERS: dict[str, tuple[Optimizer, Growth]] = {
    "sgd": (SGD(lr=0.3, warmup=5), sgd),
    "adamw": (AdamW(lr=0.02, beta2=0.98, warmup=5), adamw),
    "muon": (Muon(lr=0.05, adam_lr=0.02, warmup=5), muon),
    "lion": (Lion(lr=0.01, warmup=5), lion),
}


@pytest.mark.equation("structural-inference", "1", "Def. 3.2")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_step_of_training_contracts(tiny: RunConfig, name: str) -> None:
    optim, growth = OPTIMIZERS[name]
    config = replace(tiny, optim=optim, epochs=60)
    program = Program(config, 1, torch.device("cpu"))
    program.load(0, config, lane_data(config), None, None)
    parameters = config.model.parameters(config.task.shape)
    smallest_room = math.inf
    for epoch in range(1, 61):
        before = {weight: w[0].detach().double() for weight, w in program.weights.items()}
        program.train_epoch()
        for weight, parameter in parameters.items():
            by_adam = name == "muon" and parameter.role != "matrix"
            lr = optim.rate(torch.tensor(epoch), torch.tensor(60)).item() * (0.02 / 0.05 if by_adam else 1)
            decay = effective_decay(lr, optim.weight_decay)
            bound = contraction_bound(before[weight].square().sum(), decay, growth(parameter.shape, parameter.role, lr))
            after = program.weights[weight][0].detach().double().square().sum()
            assert after <= bound * (1 + 1e-5), f"{weight} at epoch {epoch}"
            smallest_room = min(smallest_room, (bound / after).item())
    assert program.evaluate()["train_loss"][0] < math.log(7), "it trained"
    assert smallest_room < 3, "the bound is not idle"
