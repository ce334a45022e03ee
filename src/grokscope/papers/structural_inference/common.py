"""What the structural-inference experiments share: the paper's default, the three regimes of distractors, the quick sizes."""

from __future__ import annotations

from ...config import RunConfig
from ...experiments.base import Arms
from ...priors.kl import KL
from ...tasks.modular import Modular

PAPER = RunConfig(task=Modular(alphabet=16), prior=KL(beta=0.0), precision="tf32", epochs=15_000)
"""Table G.2, with sixteen distractor symbols (the paper does not say what its distractors are, see si-dial) and half as many
epochs again. All experiments start from it, so that equal runs are trained once."""

PRIOR: Arms = {"no prior": {"prior.beta": 0.0}, "oracle": {"prior.beta": 0.3}}

QUICK = {
    "task.p": 37,
    "task.train_fraction": 0.7,
    "model.d": 48,
    "model.d_mlp": 192,
    "optim.lr": 0.01,
    "epochs": 2000,
}
"""Small enough for two cores; the same code."""
