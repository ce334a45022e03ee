"""Figure 4a: when the ticket is taken. Tickets of the dense network at every 2,000 epochs; those of one network are one unit."""

from __future__ import annotations

from functools import partial

from ...experiments.base import Claim, experiment
from ...experiments.rules import Correlated, Custom, WithinRange
from .columns import TAKEN, late_tickets
from .common import LAYER_WISE, MLP, PAPER, QUICK, SEEDS, TO_THE_END, last_only, ticket
from .figures.ratio import ratio_against

EPOCHS = (2000, 4000, 6000, 8000, 10_000, 12_000, 14_000, 16_000, 18_000, 20_000, 24_000, 28_000)
TICKETS = last_only({f"{TAKEN}{epoch:,}": ticket(epoch=epoch) for epoch in EPOCHS})
QUICK_EPOCHS = {6000: 600, 12_000: 1200, 18_000: 1800, 24_000: 2400}

experiment(
    name="gt-fig4",
    also=("gt-fig4a",),
    paper=PAPER,
    title="When the ticket is taken",
    question="Does a ticket generalise at once only if its network had generalised?",
    base=MLP,
    arms={"dense": TO_THE_END} | TICKETS,
    seeds=SEEDS,
    differs=LAYER_WISE.partition("; ")[0] + "; here each matrix loses its share",
    quick=QUICK,
    quick_arms={"dense": {"epochs": 2400}}
    | {f"{TAKEN}{full:,}": {"ticket.epoch": epoch} for full, epoch in QUICK_EPOCHS.items()},
    quick_seeds=2,
    claims=[
        Claim(
            name="before",
            statement="Tickets taken before the network generalised do not fully generalise.",
            text="Of each network, the share of its tickets taken before its t_gen that reach 95 % test accuracy: agrees "
            "if the interval of the mean over networks lies below 20 %, disagrees if above.",
            rule=WithinRange("early tickets that generalise", "dense", -1.0, 0.2),
        ),
        Claim(
            name="corresponds",
            statement="How well such a ticket generalises corresponds to the test accuracy of its network at that epoch.",
            text="Agrees if the interval of Spearman's ρ of the two, over all tickets and by bootstrap over networks, "
            "lies above 0.",
            rule=Correlated("origin_accuracy", "best_test_accuracy", 1, list(TICKETS), cluster="seed"),
        ),
        Claim(
            name="after",
            statement="Tickets taken after the network generalised generalise sooner than it did.",
            text="Of each network, the median t_gen of its tickets taken after its own t_gen, against that t_gen. Agrees "
            "if the paired permutation test over networks finds it lower (p < 0.05); otherwise disagrees if it is higher, or lower "
            "by less than a tenth.",
            rule=Custom("tickets taken after the network generalised, one unit per network", late_tickets),
        ),
    ],
    collected=("origin_accuracy",),
    pictures={
        "accuracy": "train-test",
        "times": partial(ratio_against, by="ticket.epoch", name="epoch of the ticket", zero="dense"),
    },
)
