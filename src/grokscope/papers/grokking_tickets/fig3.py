"""Figures 3 and 4b: how much to prune. τ_grok, t_mem and t_gen against the pruning rate, of each matrix or of all weights."""

from __future__ import annotations

from functools import partial

from ...experiments.base import Arms, Claim, experiment, kept
from ...experiments.clocks import FIRST_95, MEMORISED_95, TAU_95
from ...experiments.rules import Correlated, Fastest, InEach, ShareAtMost, Sooner
from .common import DENSE, MLP, PAIRED, PAPER, QUICK, SEEDS, given, last_only, ticket
from .figures.ratio import ratio_against

RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SCOPES = {"each matrix": "rate {}", "all weights": "global rate {}"}
"""How an arm is called, by what is pruned."""
TICKETS = last_only({f"rate {rate}": ticket(rate) for rate in RATES})
GLOBAL: Arms = last_only({f"global rate {rate}": ticket(rate, scope="global") for rate in RATES})
BEST, FEW_SHARE = 0.7, 0.2

experiment(
    name="gt-fig3",
    also=("gt-fig4b",),
    paper=PAPER,
    title="How much to prune",
    question="At which pruning rate is the delay shortest?",
    base=MLP,
    arms=DENSE | TICKETS | GLOBAL,
    seeds=2 * SEEDS,
    differs="the authors prune all weights together, after the last of 30,000 epochs; here both kinds of tickets are "
    "taken when 99 % test accuracy has held for 100 epochs",
    quick=QUICK,
    quick_arms=kept(("dense", "rate 0.3", "rate 0.6", "rate 0.7", "rate 0.8", "rate 0.9", "global rate 0.7")),
    quick_seeds=2,
    claims=[
        Claim(
            name="optimum",
            statement="τ_grok is lowest at a pruning rate of 0.7.",
            reported="minimum of τ_grok at 0.7 (Figure 3a)",
            text="The best of the other rates is chosen on one half of the seeds, and τ_grok at 0.7 compared with it on "
            f"the other. {PAIRED}",
            rule=InEach(
                {
                    scope: given(
                        Fastest(
                            f"{BEST}",
                            {
                                f"{BEST}": [name.format(BEST)],
                                "the best other rate": [name.format(rate) for rate in RATES if rate != BEST],
                            },
                            TAU_95,
                        )
                    )
                    for scope, name in SCOPES.items()
                }
            ),
        ),
        Claim(
            name="memorisation",
            statement="Memorising takes longer the more is pruned.",
            text="Agrees if the interval of Spearman's ρ of t_mem and the pruning rate over all tickets, by bootstrap "
            "over seeds, lies above 0; disagrees if below.",
            rule=InEach(
                {
                    scope: Correlated(
                        MEMORISED_95, "ticket.rate", 1, [name.format(rate) for rate in RATES], cluster="seed"
                    )
                    for scope, name in SCOPES.items()
                }
            ),
        ),
        Claim(
            name="most-rates",
            statement="Most pruning rates (0.1, 0.3, 0.5, 0.7) accelerate generalisation.",
            text=f"At each rate, t_gen against the dense network's. {PAIRED}",
            rule=given(
                InEach(
                    {
                        name.format(rate): Sooner(name.format(rate), "dense", FIRST_95)
                        for name in SCOPES.values()
                        for rate in (0.1, 0.3, 0.5, 0.7)
                    }
                )
            ),
        ),
        Claim(
            name="too-little",
            statement="A rate that is too small (0.3) does not generalise as quickly as 0.7.",
            text=f"t_gen at 0.7 against 0.3. {PAIRED}",
            rule=given(
                InEach({scope: Sooner(name.format(BEST), name.format(0.3), FIRST_95) for scope, name in SCOPES.items()})
            ),
        ),
        Claim(
            name="too-much",
            statement="At a rate that is too large (0.9) the ticket cannot generalise.",
            text=f"Agrees if the exact interval of the share of tickets that reach 95 % lies below {100 * FEW_SHARE:.0f} %, given "
            "that the dense network generalised; disagrees if above.",
            rule=given(
                InEach({scope: ShareAtMost(name.format(0.9), FEW_SHARE, FIRST_95) for scope, name in SCOPES.items()})
            ),
        ),
    ],
    pictures={
        "accuracy": "train-test",
        "ratio": partial(
            ratio_against, by="ticket.rate", name="pruning rate of each matrix", zero="dense", arms=list(TICKETS)
        ),
        "ratio-global": partial(
            ratio_against, by="ticket.rate", name="pruning rate of all weights", zero="dense", arms=list(GLOBAL)
        ),
    },
)
