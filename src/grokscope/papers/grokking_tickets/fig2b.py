"""Figures 2b, 9, 11 and 15: the transformer. The ticket against the dense network and against dense ones of its norm."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...experiments.base import Arms, Claim, experiment, kept
from ...experiments.clocks import FIRST_95
from ...experiments.rules import InEach, Sooner
from ...figures.norm import norms_over_time
from ...figures.train_test import train_and_test
from ...models.ticket_transformer import TicketTransformer
from .common import (
    DENSE,
    LAYER_WISE,
    MLP,
    PAIRED,
    PAPER,
    TICKET,
    TO_THE_END,
    given,
    last_only,
    sooner_claims,
    ticket,
)
from .fig2a import GLOBAL, LAYERS, loss_claim
from .fig5 import NORM
from .fig13 import FIRST_80, LEVEL

TRANSFORMER = replace(MLP, model=TicketTransformer(), optim=replace(MLP.optim, lr=3e-3))
"""App. B.2 names no learning rate; at 1e-3 no run generalises within 8,000 epochs. After 8,000 at 3e-3 a quarter of the dense
networks were still below 95 %, some of them rising: they have the 30,000 of the authors' code."""
OF_THE_CODE = replace(MLP, model=TicketTransformer(d=128, d_mlp=128, positions=False, biases=False))
"""One head, as in App. B.2 and in all scripts but those for several tasks at once."""
FLAT = (
    "The 30,000 epochs are the authors'. Of the 21 dense networks that are below 95 % then, 14 stayed between 81 and 95 % for the "
    "second half, and most of the others were still rising in it: a longer horizon would judge some more. The same at 80 %, which "
    "38 of 40 dense networks reach, is the claim sooner-80."
)
UNTRAINED = (
    "Of the 19 global tickets that are judged, 13 do not reach 95 % of the training set either (20 of all 40), where all "
    "layer-wise ones of the same rate do: what is seen first is that pruning all weights together leaves a network that can hardly "
    "be trained with weight decay 1."
)
LATER = (
    "τ falls since the ticket memorises later, not since it generalises sooner: over the 29 seeds that are judged, median t_mem "
    "is 64 epochs, that of the dense network 32."
)
GLOBAL_NORM: Arms = {arm: {**settings, "ticket.scope": "global"} for arm, settings in NORM.items()}


def norm_claim(arm: str = "grokking ticket") -> Claim:
    return Claim(
        name="norm",
        statement="Dense transformers with the ticket's L1 or L2 norm do not generalise as fast as the ticket.",
        text=f"For each norm, t_gen of the ticket against that of the scaled dense network. {PAIRED}",
        rule=given(InEach({norm: Sooner(arm, norm, FIRST_95) for norm in NORM})),
    )


experiment(
    name="gt-fig2b",
    also=("gt-fig2", "gt-fig9", "gt-fig11", "gt-fig15"),
    paper=PAPER,
    title="Tickets on the transformer",
    question="Does the ticket of a generalised transformer generalise without the delay, and is it more than a small norm?",
    base=TRANSFORMER,
    arms=last_only(DENSE | TICKET | NORM),
    seeds=30,
    differs=f"the transformer of App. B.2 at a learning rate of 0.003; {LAYER_WISE}, or after 30,000 epochs, as in 6 of 30 dense "
    "networks, if it never has. The first 20 seeds were judged before, after 8,000 epochs, when a quarter of the dense networks "
    "were below 95 %",
    quick={"model.d": 128, "epochs": 3000, "log.every": 20},
    quick_seeds=2,
    claims=[
        *(replace(claim, remark=LATER if claim.name == "ratio" else "") for claim in sooner_claims()),
        loss_claim(),
        norm_claim(),
    ],
    collected=("t_loss_10",),
    pictures={"accuracy": partial(train_and_test, apart=True), "norms": partial(norms_over_time, apart=True)},
)

experiment(
    name="gt-fig2b-authors",
    also=("gt-fig2", "gt-fig9", "gt-fig15"),
    paper=PAPER,
    title="Tickets on the transformer, authors' settings",
    question="Does the ticket of the authors' transformer generalise without the delay when all weights are pruned together?",
    base=OF_THE_CODE,
    arms=last_only({"dense": TO_THE_END, GLOBAL: ticket(scope="global"), LAYERS: ticket()} | GLOBAL_NORM),
    seeds=40,
    settings="authors'",
    differs="tickets and scaled networks train with the dense network's weight decay of 1, where the authors' script for tickets "
    "of a transformer has none (config_pruning.py, master): gt-fig2b-no-decay-authors asks with none. They stop when 99 % test "
    "accuracy has held for 100 epochs; the layer-wise ticket is ours, for comparison. Forty seeds, since fewer than half of the "
    "dense networks reach 95 %; the first twenty were judged before",
    quick={"epochs": 2000, "optim.lr": 1e-2, "model.d": 48, "log.every": 20},
    quick_arms=kept(("dense", GLOBAL, LAYERS)),
    quick_seeds=2,
    claims=[
        *(replace(claim, remark=f"{UNTRAINED} {FLAT}") for claim in sooner_claims(GLOBAL)),
        Claim(
            name="sooner-80",
            statement="A grokking ticket reaches 80 % sooner than the dense network, too.",
            text="The first crossing of 80 % of the ticket against the dense network's, given that the dense network reached it: "
            "agrees if the paired permutation test finds it lower (p < 0.05); otherwise disagrees if it is higher, or lower by "
            "less than a tenth.",
            rule=given(Sooner(GLOBAL, "dense", FIRST_80), clock=FIRST_80),
            of="ours",
        ),
        replace(loss_claim(GLOBAL), remark=UNTRAINED),
        replace(norm_claim(GLOBAL), remark=UNTRAINED),
        Claim(
            name="scope",
            statement="Pruning all weights together gives a faster ticket than pruning each matrix.",
            text=f"t_gen of the global ticket against the layer-wise one's. {PAIRED}",
            rule=given(Sooner(GLOBAL, LAYERS, FIRST_95)),
            of="ours",
            remark=UNTRAINED,
        ),
    ],
    collected=("t_loss_10",),
    thresholds=(LEVEL,),
    pictures={"accuracy": "train-test"},
)

experiment(
    name="gt-fig2b-no-decay-authors",
    also=("gt-fig2", "gt-fig9"),
    paper=PAPER,
    title="Tickets on the transformer without decay, authors' settings",
    question="Does the ticket of the authors' transformer generalise sooner if it trains without weight decay, as in their script?",
    base=OF_THE_CODE,
    arms=last_only({"dense": TO_THE_END, GLOBAL: ticket(scope="global") | {"optim.weight_decay": 0.0}}),
    seeds=40,
    settings="authors'",
    differs="tickets stop when 99 % test accuracy has held for 100 epochs. Forty seeds, since fewer than half of the dense "
    "networks reach 95 %, as gt-fig2b-authors has shown",
    quick={"epochs": 2000, "optim.lr": 1e-2, "model.d": 48, "log.every": 20},
    quick_seeds=2,
    claims=[*sooner_claims(GLOBAL), loss_claim(GLOBAL)],
    collected=("t_loss_10",),
    pictures={"accuracy": "train-test"},
)
