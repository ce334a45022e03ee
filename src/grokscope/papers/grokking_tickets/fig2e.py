"""Figures 2e and 14b: sparse parity (Merrill et al. 2023) by a two-layer network, trained by SGD on small batches."""

from __future__ import annotations

from ...config import Log, RunConfig
from ...experiments.base import experiment
from ...models.mlp import MLP
from ...optim.sgd import SGD
from ...tasks.parity import Parity
from .common import DENSE, FORTY, PAPER, TICKET, sooner_claims
from .fig7 import together_claim

PARITY = RunConfig(
    task=Parity(n=40, k=3, form="signs", train_size=1000, test_size=1000),
    model=MLP(depth=2, width=200),
    loss="mse",
    optim=SGD(lr=0.1, weight_decay=0.01, warmup=0.0, clip=0.0),
    batch_size=32,
    epochs=400,
    log=Log(every=5, keep=10, dense=True),
)

experiment(
    name="gt-fig2e",
    also=("gt-fig2", "gt-fig14"),
    paper=PAPER,
    title="Tickets for sparse parity",
    question="Does a ticket end the delay for sparse parity?",
    base=PARITY,
    arms=DENSE | TICKET,
    seeds=40,
    differs="the network of Merrill et al. (2023); the paper gives no settings for this task. " + FORTY,
    quick={"epochs": 200},
    quick_seeds=2,
    claims=[*sooner_claims(), together_claim()],
    pictures={"accuracy": "train-test", "structure": "gt-structure"},
    probes=("jaccard",),
)
