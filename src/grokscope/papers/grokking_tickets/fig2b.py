"""Figures 2b and 15: the transformer of App. B.2. The ticket against the dense network and against dense ones of its norm."""

from __future__ import annotations

from dataclasses import replace

from ...experiments.base import Claim, experiment
from ...experiments.rules import sooner_in_each
from ...models.ticket_transformer import TicketTransformer
from .common import DENSE, GENERALISED, MLP, PAPER, TICKET, last_only
from .fig2a import CLAIMS
from .fig5 import NORM

TRANSFORMER = replace(MLP, model=TicketTransformer(), optim=replace(MLP.optim, lr=3e-3), epochs=8000)
"""App. B.2 names no learning rate; at 1e-3 no run generalises within 8,000 epochs."""

experiment(
    name="gt-fig2b",
    also=("gt-fig2", "gt-fig11", "gt-fig15"),
    paper=PAPER,
    title="Tickets on the transformer",
    question="Does the ticket of a generalised transformer generalise without the delay, and is it more than a small norm?",
    base=TRANSFORMER,
    arms=last_only(DENSE | TICKET | NORM),
    quick={"model.d": 128, "epochs": 3000, "log.every": 20},
    quick_seeds=2,
    claims=[
        *CLAIMS,
        Claim(
            name="norm",
            statement="Dense transformers with the ticket's L1 or L2 norm do not generalise as fast as the ticket.",
            rule="Holds for a norm if the ticket's t_gen is earlier: log-rank p < 0.05 after Holm's correction.",
            judge=sooner_in_each({arm: ("grokking ticket", arm) for arm in NORM}, GENERALISED),
        ),
    ],
    pictures={"accuracy": "train-test", "norms": "norms"},
)
