"""Figure 4a: when the ticket is taken. Tickets of the dense network at every 2,000 epochs."""

from __future__ import annotations

from functools import partial

from ...experiments.base import Claim, experiment
from .common import MLP, PAPER, QUICK, last_only, ticket
from .figures.ratio import ratio_against
from .rules import early_tickets_fail, late_tickets_help

EPOCHS = (2000, 4000, 6000, 8000, 10_000, 12_000, 14_000, 16_000, 18_000, 20_000, 24_000, 28_000)
PREFIX = "ticket at "
TICKETS = last_only({f"{PREFIX}{epoch:,}": ticket(epoch=epoch) for epoch in EPOCHS})
QUICK_EPOCHS = {6000: 600, 12_000: 1200, 18_000: 1800, 24_000: 2400}

experiment(
    name="gt-fig4",
    also=("gt-fig4a",),
    paper=PAPER,
    title="When the ticket is taken",
    question="Does a ticket generalise at once only if its network had generalised?",
    base=MLP,
    arms={"dense": {"stop.accuracy": 0.0}} | TICKETS,
    quick=QUICK,
    quick_arms={"dense": {"epochs": 2400}}
    | {f"{PREFIX}{full:,}": {"ticket.epoch": epoch} for full, epoch in QUICK_EPOCHS.items()},
    quick_seeds=2,
    claims=[
        Claim(
            name="before",
            statement="Tickets taken before the network generalised do not fully generalise.",
            rule="Holds if at most 20 % of the tickets taken before t_gen of the dense run with the same seed reach 95 % test "
            "accuracy.",
            judge=early_tickets_fail(PREFIX),
        ),
        Claim(
            name="after",
            statement="Tickets taken after the network generalised generalise sooner than it did.",
            rule="Holds if the tickets taken after t_gen of the dense run with the same seed generalise earlier than the dense "
            "runs: log-rank p < 0.05 and the earlier median.",
            judge=late_tickets_help(PREFIX),
        ),
    ],
    pictures={
        "accuracy": "train-test",
        "times": partial(ratio_against, by="ticket.epoch", name="epoch of the ticket", zero="dense"),
    },
)
