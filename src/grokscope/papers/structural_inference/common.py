"""What the structural-inference experiments share: the paper's default, the regimes of distractors, the quick sizes."""

from __future__ import annotations

from ...config import Log, RunConfig
from ...experiments.base import Arms
from ...experiments.regimes import REGIMES
from ...priors.kl import KL
from ...tasks.modular import Modular
from . import columns as columns  # registers the columns that claims name

PAPER = RunConfig(task=Modular(alphabet=16), prior=KL(beta=0.0), precision="tf32", epochs=15_000, log=Log(dense=True))
"""Table G.2, with sixteen distractor symbols (the paper does not say what its distractors are, see si-dial) and half as many
epochs again. All experiments start from it, so that equal runs are trained once."""

LOST = (
    "Model, optimizer, p, train fraction and clipping are those of Table G.2; the learning rate (1e-3), β (0.3 unless swept) and "
    "what a distractor is are lost from the paper's text and ours; products are in TF32 instead of automatic mixed precision"
)
"""Which settings are not the authors', without the horizon."""
DIFFERS = f"{LOST}; 15,000 epochs instead of 10,000."
"""The same for every experiment that does not say more."""

MORE = "Forty seeds: the first twenty, which were judged before, leave ten pairs once half of them have chosen the best arms."

PRIOR: Arms = {"no prior": {"prior.beta": 0.0}, "oracle": {"prior.beta": 0.3}}

LITERAL: Arms = {name: REGIMES[name] for name in ("constant distractors", "q = 16")}
"""The literal reading of §3.1 ("padding"), and the regime in which attention is a bottleneck that training removes."""

GRADIENT = ("grad_M", "grad_logit", "bound", "bound_paper", "bound_ratio")
"""Metrics of the gradient on attention and its bound."""

QUICK = {
    "task.p": 37,
    "task.train_fraction": 0.7,
    "model.d": 48,
    "model.d_mlp": 192,
    "optim.lr": 0.01,
    "epochs": 2000,
}
"""Small enough for two cores; the same code."""
