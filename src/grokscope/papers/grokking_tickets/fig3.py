"""Figures 3 and 4b: how much to prune. τ_grok, t_mem and t_gen against the pruning rate."""

from __future__ import annotations

from functools import partial

from ...experiments.base import Claim, experiment
from ...experiments.rules import groks, sooner_in_each
from .common import DENSE, GENERALISED, MLP, PAPER, QUICK, last_only, ticket
from .figures.ratio import ratio_against
from .rules import grows_with, lowest_ratio_at

RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TICKETS = last_only({f"rate {rate}": ticket(rate) for rate in RATES})
ARMS = [*DENSE, *TICKETS]

experiment(
    name="gt-fig3",
    also=("gt-fig4b",),
    paper=PAPER,
    title="How much to prune",
    question="At which pruning rate is the delay shortest?",
    base=MLP,
    arms=DENSE | TICKETS,
    quick=QUICK,
    quick_arms={arm: {} for arm in ("dense", "rate 0.3", "rate 0.6", "rate 0.7", "rate 0.8", "rate 0.9")},
    quick_seeds=2,
    claims=[
        Claim(
            name="optimum",
            statement="τ_grok is lowest at a pruning rate of 0.7.",
            reported="minimum of τ_grok at 0.7 (Figure 3a)",
            rule="Holds if the median τ_grok over the rates is lowest at 0.7; runs that never generalised count as infinite.",
            judge=lowest_ratio_at("rate 0.7", ARMS),
        ),
        Claim(
            name="memorisation",
            statement="Memorising takes longer the more is pruned.",
            rule="Holds if t_mem grows with the pruning rate: Spearman p < 0.05 over all tickets.",
            judge=grows_with("t_mem_95", "ticket.rate", list(TICKETS), "t_mem"),
        ),
        Claim(
            name="most-rates",
            statement="Most pruning rates (0.1, 0.3, 0.5, 0.7) accelerate generalisation.",
            rule="At each rate: t_gen earlier than dense, log-rank p < 0.05 after Holm's correction.",
            judge=sooner_in_each({f"rate {r}": (f"rate {r}", "dense") for r in (0.1, 0.3, 0.5, 0.7)}, GENERALISED),
        ),
        Claim(
            name="too-much",
            statement="At a rate of 0.9 the ticket still generalises.",
            reported="it cannot generalise (Figure 4b)",
            rule="Holds if at least 80 % of the runs at rate 0.9 reach 99 % test accuracy.",
            judge=groks(["rate 0.9"], 0.8),
        ),
    ],
    pictures={
        "accuracy": "train-test",
        "ratio": partial(ratio_against, by="ticket.rate", name="pruning rate", zero="dense"),
    },
)
