"""Figures 5 and 6: neither norm nor sparsity. Controlled dense networks and pruning at initialisation beside the ticket."""

from __future__ import annotations

from ...experiments.base import Claim, experiment
from ...experiments.rules import sooner_in_each
from ...figures import norms_over_time, train_and_test
from .common import DENSE, GENERALISED, MLP, PAPER, QUICK, TICKET, last_only, only, ticket
from .rules import lower_at_end, none_sooner, within

NORM = last_only({f"dense, {norm.upper()} norm": ticket(kind="dense", norm=norm) for norm in ("l1", "l2")})
INITIAL = last_only(
    {name: {"ticket.kind": name.lower(), "ticket.rate": 0.6} for name in ("random", "SNIP", "GraSP", "SynFlow")}
)
ALIKE = ["dense", "grokking ticket", *NORM]

experiment(
    name="gt-fig5",
    also=("gt-fig6", "gt-fig10", "gt-fig12"),
    paper=PAPER,
    title="Norm, sparsity, structure",
    question="Is it the ticket's small norm, its sparsity, or its structure that ends the delay?",
    base=MLP,
    arms=DENSE | TICKET | NORM | INITIAL,
    quick=QUICK,
    quick_seeds=2,
    claims=[
        Claim(
            name="norm",
            statement="Dense networks with the ticket's L1 or L2 norm do not generalise as fast as the ticket.",
            rule="Holds for a norm if the ticket's t_gen is earlier: log-rank p < 0.05 after Holm's correction.",
            judge=sooner_in_each({arm: ("grokking ticket", arm) for arm in NORM}, GENERALISED),
        ),
        Claim(
            name="sparsity",
            statement="Networks pruned at initialisation do not generalise as fast as the ticket.",
            rule="Holds for a method if the ticket's t_gen is earlier: log-rank p < 0.05 after Holm's correction.",
            judge=sooner_in_each({arm: ("grokking ticket", arm) for arm in INITIAL}, GENERALISED),
        ),
        Claim(
            name="initial",
            statement="No pruning at initialisation generalises sooner than the dense network.",
            rule="Holds for a method unless its t_gen is earlier than the dense network's (log-rank p < 0.05).",
            judge=none_sooner(list(INITIAL), "dense"),
        ),
        Claim(
            name="l2",
            statement="All of them end at a similar L2 norm.",
            rule="Holds if the median L2 norms at the end of dense, ticket and controlled dense lie within a factor of 1.2.",
            judge_all=within(ALIKE, "l2", 1.2, "L2 norm"),
        ),
        Claim(
            name="l1",
            statement="The ticket ends at a smaller L1 norm than the dense network.",
            rule="Holds if its L1 norm at the end is lower: Mann–Whitney p < 0.05.",
            judge_all=lower_at_end("grokking ticket", "dense", "l1", "L1 norm at the end"),
        ),
    ],
    pictures={
        "norm": only(ALIKE, train_and_test),
        "sparsity": only([*DENSE, *TICKET, *INITIAL], train_and_test),
        "norms": only(ALIKE, norms_over_time),
    },
)
