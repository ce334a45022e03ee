"""Figure 13: images. A four-layer MLP with squared loss on 1,000 digits of MNIST, from large initial weights (App. B.1).

Needs the digits (docs/real-data.md). With so few of them the best test accuracy is below 90 %, so that times are taken at 80 %.
"""

from __future__ import annotations

from ...config import Log, RunConfig
from ...experiments.base import Claim, experiment
from ...models.mlp import MLP
from ...optim.adamw import AdamW
from ...tasks.images import Mnist
from .common import DENSE, PAPER, TICKET
from .rules import sooner_to

LEVEL = 0.8
DIGITS = RunConfig(
    task=Mnist(train_size=1000, test_size=2000),
    model=MLP(depth=4, width=200, kappa=4.6),
    loss="mse",
    optim=AdamW(lr=3e-3, weight_decay=0.1, warmup=0.0, clip=0.0),
    epochs=8000,
    precision="tf32",
    log=Log(every=50),
)

experiment(
    name="gt-fig13",
    paper=PAPER,
    title="Tickets for images",
    question="Does a ticket end the delay on real images?",
    base=DIGITS,
    arms=DENSE | TICKET,
    quick={"epochs": 3000, "task.test_size": 1000, "model.width": 100},
    quick_seeds=1,
    claims=[
        Claim(
            name="sooner",
            statement="A grokking ticket generalises sooner than the dense network.",
            rule="Holds if a test accuracy of 80 % comes earlier: log-rank p < 0.05 and the earlier median.",
            judge_all=sooner_to(LEVEL, {"": ("grokking ticket", "dense")}),
        ),
    ],
    pictures={"accuracy": "train-test"},
)
