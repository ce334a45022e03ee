"""Figure 19: text. A two-layer LSTM on film reviews of IMDb, the 1,000 most frequent words (App. J).

The paper trains on 37,500 reviews of 500 words and sees test accuracy rise at about 10,000 steps. Needs the reviews
(docs/real-data.md), of which there are 25,000; a step over all of them takes seconds. The quick size shows that the set-up
runs: it decides nothing.
"""

from __future__ import annotations

from ...config import Log, RunConfig
from ...experiments.base import Claim, experiment
from ...experiments.rules import NotTested
from ...models.lstm import LSTM
from ...optim.adamw import AdamW
from ...tasks.text import Imdb
from .common import DENSE, PAPER, TICKET

REVIEWS = RunConfig(
    task=Imdb(length=100),
    model=LSTM(padding=0),
    optim=AdamW(lr=1e-3, weight_decay=1e-3, warmup=0.0, clip=0.0),
    epochs=100,
    log=Log(every=25, dense=True),
)
WHY = (
    "10,000 steps over 37,500 reviews of 500 words take hours of one GPU, 20 seeds of dense network and ticket more than a "
    "week; and 25,000 of the 50,000 reviews are at hand"
)

experiment(
    name="gt-fig19",
    paper=PAPER,
    title="Tickets for text",
    question="Does a ticket end the delay on real text?",
    base=REVIEWS,
    arms=DENSE | TICKET,
    seeds=2,
    differs="750 reviews of 100 words and 100 steps, in place of 37,500 reviews of 500 words and 30,000 steps or more",
    quick={"epochs": 60, "task.length": 30, "task.train_size": 200, "task.test_size": 100, "log.every": 10},
    quick_seeds=1,
    claims=[
        Claim(
            name="sooner",
            statement="A grokking ticket generalises sooner than the dense network.",
            text="Not tested at the paper's size, and not decided at a smaller one.",
            rule=NotTested(WHY),
        ),
    ],
    pictures={"accuracy": "train-test"},
)
