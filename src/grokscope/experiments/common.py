"""What the structural-inference experiments share: the paper's default, the three regimes of distractors, the quick sizes."""

from __future__ import annotations

from dataclasses import replace

from ..config import RunConfig
from ..priors.kl import KL
from ..tasks.modular import Modular
from .base import Arms

PAPER = RunConfig(task=Modular(alphabet=16), prior=KL(beta=0.0), precision="tf32", epochs=15_000)
"""Table G.2, with sixteen distractor symbols: the paper does not say what its distractors are (see si-dial)."""

LONG = replace(PAPER, epochs=20_000)

REGIMES: Arms = {
    "constant distractors": {"task.alphabet": 1},
    "q = 16": {"task.alphabet": 16},
    "operand vocabulary": {"task.alphabet": "operands"},
}
"""From "attention is no bottleneck" to "attention is the whole bottleneck"."""

QUICK = {
    "task.p": 37,
    "task.train_fraction": 0.7,
    "model.d": 48,
    "model.d_mlp": 192,
    "optim.lr": 0.01,
    "epochs": 2000,
}
"""Small enough for two cores; the same code."""
