"""Lazy or not: how far features have moved before a run generalises, and whether they ever rest."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.rules import Correlated, InEach, WithinRange
from .common import AMONG_DISTRACTORS, EASY, SEEDS, quick

SCALES: Arms = {f"α = {scale:g}": {"model.readout_scale": scale} for scale in (0.3, 1.0, 3.0, 10.0)}
OTHERS: Arms = {"LayerNorm at both inputs": {"model.norm": "both"}, "constant distractors": {"task.alphabet": 1}}
ARMS: Arms = SCALES | OTHERS

experiment(
    name="ib-features",
    paper="inductive-bias",
    title="Do features move?",
    question="Are features where they began until a run groks, or do they move throughout?",
    differs=AMONG_DISTRACTORS,
    base=EASY,
    arms=ARMS,
    seeds=SEEDS,
    quick=quick(2000),
    claims=[
        Claim(
            name="not-lazy",
            statement="Memorisation is not lazy: features have left their start before a run generalises.",
            rule=InEach({arm: WithinRange("likeness", arm, 0.0, 0.9) for arm in ARMS}),
            text="Per arm: CKA of the hidden layer with its start at the last checkpoint with test accuracy below 50 "
            "% is at most 0.9 in the mean over runs; disagrees if it is more.",
        ),
        Claim(
            name="throughout",
            statement="Features evolve continuously throughout training: they move all the time while a run waits.",
            rule=InEach({arm: WithinRange("stillest", arm, 0.0, 0.99) for arm in ARMS}),
            remark="This asks little: every CKA below 0.99 counts as movement.",
            text="Per arm: the highest CKA of the hidden layer at two checkpoints in a row (400 epochs apart) while "
            "test accuracy is below 50 % is at most 0.99 in the mean over runs; disagrees if it is more.",
        ),
        Claim(
            name="no-transition",
            statement="Grokking is not a transition from a lazy to a rich regime: most of the features' way lies "
            "behind them before a run generalises.",
            rule=InEach({arm: WithinRange("moved_before", arm, 0.5, 2.0) for arm in ARMS}),
            text="Per arm: 1 − CKA of the hidden layer with its start at the last checkpoint with test accuracy "
            "below 50 %, over that at the end, is at least one half in the mean over runs; disagrees if it is "
            "less.",
        ),
        Claim(
            name="scale",
            of="ours",
            statement="A larger read-out scale keeps features nearer to their start.",
            rule=Correlated("model.readout_scale", "likeness", 1, arms=tuple(SCALES), cluster="seed"),
            text="Over the runs with different scales: rank correlation of the scale with that CKA, bootstrap over "
            "seeds.",
        ),
    ],
    pictures={"movement": "ib-movement"},
    probes=("features",),
)
