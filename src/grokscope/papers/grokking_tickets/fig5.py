"""Figures 5 and 6: neither norm nor sparsity. Controlled dense networks and pruning at initialisation beside the ticket, and the
norms of all of them at the same epoch.
"""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.clocks import FIRST_95, of_column
from ...experiments.rules import Alike, Differ, InEach, Less, Sooner
from ...figures import norms_over_time, train_and_test
from .common import (
    DENSE,
    LAYER_WISE,
    MLP,
    PAIRED,
    PAPER,
    QUICK,
    SEEDS,
    TICKET,
    TO_THE_END,
    given,
    last_only,
    only,
    ticket,
)

NORM = last_only({f"dense, {norm.upper()} norm": ticket(kind="dense", norm=norm) for norm in ("l1", "l2")})
INITIAL = last_only(
    {name: {"ticket.kind": name.lower(), "ticket.rate": 0.6} for name in ("random", "SNIP", "GraSP", "SynFlow")}
)

experiment(
    name="gt-fig5",
    also=("gt-fig10", "gt-fig12"),
    paper=PAPER,
    title="Norm, sparsity, structure",
    question="Is it the ticket's small norm, its sparsity, or its structure that ends the delay?",
    base=MLP,
    arms=DENSE | TICKET | NORM | INITIAL,
    seeds=SEEDS,
    differs=LAYER_WISE,
    quick=QUICK,
    quick_seeds=2,
    claims=[
        Claim(
            name="norm",
            statement="Dense networks with the ticket's L1 or L2 norm do not generalise as fast as the ticket.",
            text=f"For each norm, t_gen of the ticket against that of the scaled dense network. {PAIRED}",
            rule=given(InEach({arm: Sooner("grokking ticket", arm, FIRST_95) for arm in NORM})),
        ),
        Claim(
            name="sparsity",
            statement="Networks pruned at initialisation do not generalise as fast as the ticket.",
            text=f"For each method, t_gen of the ticket against that of the pruned network. {PAIRED}",
            rule=given(InEach({arm: Sooner("grokking ticket", arm, FIRST_95) for arm in INITIAL})),
        ),
        Claim(
            name="initial",
            statement="All methods of pruning at initialisation perform worse than the dense network.",
            text="For each method, t_gen of the dense network against that of the pruned one: agrees if the paired "
            "permutation test finds it lower (p < 0.05); otherwise disagrees if it is higher, or lower by less than a tenth.",
            rule=InEach({arm: Sooner("dense", arm, FIRST_95) for arm in INITIAL}),
        ),
    ],
    pictures={
        "norm": only([*DENSE, *TICKET, *NORM], train_and_test),
        "sparsity": only([*DENSE, *TICKET, *INITIAL], train_and_test),
    },
)

ENDED: Arms = {
    "dense to the end": TO_THE_END,
    "ticket to the end": {**ticket(), **TO_THE_END},
    **{f"{arm}, to the end": {**settings, **TO_THE_END} for arm, settings in NORM.items()},
}
"""Trained to the same last epoch, from the tickets of the arm dense."""

experiment(
    name="gt-fig6",
    paper=PAPER,
    title="Norms of ticket and dense networks",
    question="Do all networks converge to a similar L2 norm, and to different L1 norms?",
    base=MLP,
    arms=DENSE | ENDED,
    seeds=SEEDS,
    differs=LAYER_WISE,
    quick=QUICK,
    quick_seeds=2,
    claims=[
        Claim(
            name="l2",
            statement="In the L2 norm dense network, ticket and controlled dense networks converge to a similar solution.",
            text="L2 norms at epoch 30,000: agrees if those of all lie within a factor of 1.2 of the dense network's "
            "(two one-sided paired tests each), disagrees if one lies outside.",
            rule=given(Alike(list(ENDED), 1.2, of_column("l2_end", "L2 norm at the last epoch"))),
        ),
        Claim(
            name="l1",
            statement="In the L1 norm they converge to different values.",
            text="L1 norms at epoch 30,000: agrees if a permutation of the arms within seeds finds a difference (p < "
            "0.05), disagrees if all are alike within a factor of 1.25.",
            rule=given(Differ(list(ENDED), of_column("l1_end", "L1 norm at the last epoch"))),
        ),
        Claim(
            name="l1-smaller",
            statement="The ticket has a smaller L1 norm than the dense network.",
            text="L1 norms at epoch 30,000, Wilcoxon's signed ranks over paired seeds (p < 0.05).",
            rule=given(Less("l1_end", "ticket to the end", "dense to the end")),
        ),
    ],
    collected=("l1_end", "l2_end"),
    curves=("l1", "l2"),
    pictures={"norms": only(list(ENDED), norms_over_time)},
)
