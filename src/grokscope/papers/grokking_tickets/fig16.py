"""Figure 16: with a good structure weight decay is not needed. Tickets trained without weight decay, by pruning rate."""

from __future__ import annotations

from functools import partial

from ...experiments.base import Claim, experiment
from ...experiments.rules import groks, never_groks
from .common import DENSE, MLP, PAPER, QUICK, last_only, ticket
from .figures.ratio import ratio_against

RATES = (0.5, 0.6, 0.7, 0.75, 0.8, 0.81, 0.82, 0.83, 0.85, 0.9)
NO_DECAY = {"optim.weight_decay": 0.0}
TICKETS = last_only({f"rate {rate}, no decay": {**ticket(rate), **NO_DECAY} for rate in RATES})

experiment(
    name="gt-fig16",
    paper=PAPER,
    title="Without weight decay",
    question="Is there a pruning rate at which the ticket generalises without weight decay?",
    base=MLP,
    arms=DENSE | last_only({"dense, no decay": NO_DECAY}) | TICKETS,
    quick=QUICK,
    quick_arms={
        arm: {}
        for arm in ("dense", "dense, no decay", *(f"rate {rate}, no decay" for rate in (0.6, 0.7, 0.8, 0.81, 0.9)))
    },
    quick_seeds=2,
    claims=[
        Claim(
            name="critical",
            statement="At the critical pruning rate 0.81 the ticket generalises without weight decay.",
            reported="0.81 is the largest rate that generalises (App. E)",
            rule="Holds if at least 80 % of the tickets at rate 0.81 reach 99 % test accuracy without weight decay.",
            judge=groks(["rate 0.81, no decay"], 0.8),
        ),
        Claim(
            name="some-rate",
            statement="At every tried rate the ticket generalises without weight decay.",
            rule="Holds for a rate if at least 80 % of its runs reach 99 % test accuracy without weight decay.",
            judge=groks(list(TICKETS), 0.8),
        ),
        Claim(
            name="dense",
            statement="The dense network never generalises without weight decay.",
            rule="Holds if no dense run without weight decay reaches 99 % test accuracy.",
            judge=never_groks(["dense, no decay"]),
        ),
    ],
    pictures={
        "accuracy": "train-test",
        "times": partial(ratio_against, by="ticket.rate", name="pruning rate, no weight decay", zero="dense, no decay"),
    },
)
