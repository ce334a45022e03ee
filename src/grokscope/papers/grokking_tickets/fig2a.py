"""Figures 2a and 9: the grokking ticket against the dense network, modular addition with the MLP of Eq. 1."""

from __future__ import annotations

from functools import partial

from ...experiments.base import Arms, Claim, experiment, kept
from ...experiments.clocks import FIRST_95, STABLE_95, TAU_95
from ...experiments.rules import Sooner, WithinRange
from ...figures import train_and_test
from .collected import LOSS_FELL
from .common import (
    DENSE,
    GIVEN,
    LAYER_WISE,
    MLP,
    PAIRED,
    PAPER,
    QUICK,
    TICKET,
    TO_THE_END,
    given,
    only,
    sooner_claims,
    ticket,
)

NEAR = 2.0


def loss_claim(arm: str = "grokking ticket") -> Claim:
    """Figure 9."""
    return Claim(
        name="loss",
        statement="The test loss of a grokking ticket converges to 0 faster than that of the dense network.",
        text=f"The first epoch with a test loss of 0.1 or less. {PAIRED}",
        rule=given(Sooner(arm, "dense", LOSS_FELL)),
    )


MORE = (
    "Twenty-four seeds: of the first twenty, which were judged before, eighteen are left, since only those count whose dense "
    "network generalised."
)


def simultaneous(arm: str = "grokking ticket") -> Claim:
    """Figure 1 and §3.2."""
    return Claim(
        name="simultaneous",
        statement="With a grokking ticket, train and test accuracy rise almost simultaneously.",
        text=f"The median τ_grok of the ticket lies below {NEAR:g} (the factor is ours), given that the dense network generalised.",
        rule=given(WithinRange(TAU_95, arm, 0.0, NEAR)),
    )


experiment(
    name="gt-fig2a",
    also=("gt-fig1", "gt-fig2", "gt-fig9"),
    paper=PAPER,
    title="Tickets on the MLP",
    question="Does the ticket of a generalised network generalise without the delay?",
    base=MLP,
    arms=DENSE | TICKET,
    seeds=GIVEN,
    differs=f"{LAYER_WISE}. {MORE}",
    quick=QUICK,
    claims=[*sooner_claims(), simultaneous(), loss_claim()],
    collected=("t_loss_10",),
    pictures={"accuracy": "train-test", "loss": partial(train_and_test, column="loss")},
)

GLOBAL, LAYERS, LONGER = "global ticket", "layer-wise ticket", "dense, 60,000 epochs"
AUTHORS: Arms = {
    "dense": TO_THE_END,
    GLOBAL: {**ticket(scope="global"), **TO_THE_END},
    LAYERS: {**ticket(), **TO_THE_END},
    LONGER: {**TO_THE_END, "epochs": 60_000},
}
experiment(
    name="gt-fig2a-authors",
    also=("gt-fig2", "gt-fig9"),
    paper=PAPER,
    title="Tickets on the MLP, authors' settings",
    question="Does the ticket generalise without the delay when all weights are pruned together after the last epoch?",
    base=MLP,
    arms=AUTHORS,
    seeds=GIVEN,
    settings="authors'",
    differs="the cross-entropy is computed in float32, not float64; the layer-wise ticket and the longer dense run are "
    "ours, for comparison. " + MORE,
    quick=QUICK,
    quick_arms=kept(("dense", GLOBAL, LAYERS)),
    quick_seeds=2,
    claims=[
        *sooner_claims(GLOBAL),
        simultaneous(GLOBAL),
        loss_claim(GLOBAL),
        Claim(
            name="stable",
            statement="The ticket is sooner on the stable clock too: 95 % test accuracy from then on until the last epoch.",
            text="The epoch from which test accuracy never falls below 95 % again, against a dense run that trains on "
            f"for twice as long. {PAIRED}",
            rule=given(Sooner(GLOBAL, LONGER, STABLE_95)),
            of="ours",
        ),
        Claim(
            name="scope",
            statement="Pruning all weights together gives a faster ticket than pruning each matrix.",
            text=f"t_gen of the global ticket against the layer-wise one's. {PAIRED}",
            rule=given(Sooner(GLOBAL, LAYERS, FIRST_95)),
            of="ours",
        ),
    ],
    collected=("t_loss_10",),
    pictures={"accuracy": only(("dense", GLOBAL, LAYERS), train_and_test)},
)
