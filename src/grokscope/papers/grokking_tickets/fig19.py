"""Figure 19: text. A two-layer LSTM on film reviews of IMDb, the 1,000 most frequent words (App. J).

Needs the reviews (docs/real-data.md). The paper reads 50,000 reviews of 500 words; here there are Omnigrok's 1,000 reviews, the
first 100 frequent words of each, so that a run takes minutes. Times are taken at 70 % test accuracy.
"""

from __future__ import annotations

from ...config import Log, RunConfig
from ...experiments.base import Arms, Claim, experiment
from ...models.lstm import LSTM
from ...optim.adamw import AdamW
from ...tasks.text import Imdb
from .common import PAPER, ticket
from .rules import sooner_to

LEVEL = 0.7
REVIEWS = RunConfig(
    task=Imdb(length=100),
    model=LSTM(padding=0),
    optim=AdamW(lr=1e-3, weight_decay=1.0, warmup=0.0, clip=1.0),
    epochs=800,
    precision="tf32",
    log=Log(every=25),
)

SCALES = {"scale 1": 1.0, "scale 6": 6.0}
"""κ of the initial weights: the usual one, and the large one with which Omnigrok makes the delay appear."""
ARMS: Arms = {}
for _name, _kappa in SCALES.items():
    ARMS[f"{_name}, dense"] = {"model.kappa": _kappa}
    ARMS[f"{_name}, ticket"] = {"model.kappa": _kappa, **ticket(run=f"@{_name}, dense")}

experiment(
    name="gt-fig19",
    paper=PAPER,
    title="Tickets for text",
    question="Does a ticket end the delay on real text?",
    base=REVIEWS,
    arms=ARMS,
    parts=list(SCALES),
    quick={"epochs": 60, "task.length": 30, "task.train_size": 200, "task.test_size": 100, "log.every": 10},
    quick_seeds=1,
    claims=[
        Claim(
            name="sooner",
            statement="A grokking ticket generalises sooner than the dense network.",
            rule="Holds for a scale if a test accuracy of 70 % comes earlier: log-rank p < 0.05 after Holm's correction.",
            judge_all=sooner_to(LEVEL, {name: (f"{name}, ticket", f"{name}, dense") for name in SCALES}),
        ),
    ],
    pictures={"accuracy": "train-test"},
)
