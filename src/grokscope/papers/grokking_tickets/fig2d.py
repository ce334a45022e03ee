"""Figures 2d and 14a: polynomial regression (Kumar et al. 2023) by a committee machine. Accuracy is R², t_gen at R² = 0.95."""

from __future__ import annotations

from ...config import Log, RunConfig, Stop
from ...experiments.base import Claim, experiment
from ...models.committee import Committee
from ...optim.sgd import SGD
from ...tasks.polynomial import Polynomial
from .common import DENSE, PAPER, TICKET
from .fig2a import CLAIMS
from .rules import structure_moves_with_accuracy

REGRESSION = RunConfig(
    task=Polynomial(dimension=40, train_size=220),
    model=Committee(width=200),
    loss="mse",
    optim=SGD(lr=200.0, weight_decay=0.0, warmup=0.0, clip=0.0),
    epochs=20_000,
    log=Log(every=50, keep=1000),
    stop=Stop(accuracy=0.96),
)

experiment(
    name="gt-fig2d",
    also=("gt-fig2", "gt-fig14"),
    paper=PAPER,
    title="Tickets for polynomial regression",
    question="Does a ticket end the delay where there is no class to predict and no weight decay?",
    base=REGRESSION,
    arms=DENSE | TICKET,
    quick={"log.keep": 500},
    quick_seeds=2,
    claims=[
        *CLAIMS,
        Claim(
            name="together",
            statement="The subnetwork changes most while test R² rises most.",
            rule="After memorisation, the interval between checkpoints with the largest gain in test R² is among the quarter with "
            "the largest Jaccard distance: holds if so in at least 80 % of the runs that gain at all.",
            judge_all=structure_moves_with_accuracy(["dense"]),
        ),
    ],
    pictures={"accuracy": "train-test", "structure": "gt-structure"},
    probes=("jaccard",),
)
