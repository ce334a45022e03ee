"""Where LayerNorm stands, when a run groks, and what attention and shortcuts have to do with it, among distractors."""

from __future__ import annotations

from functools import partial

from ...experiments.base import Claim, experiment
from ...experiments.clocks import FIRST_99
from ...experiments.rules import Alike, Correlated, Differ, InEach, Sooner
from .common import AMONG_DISTRACTORS, HARD, PLACEMENTS, PLACES, SEEDS, quick
from .figures.shortcuts import shortcuts

RMS = {f"RMS, {name}": {"model.norm": norm, "model.norm_kind": "rms"} for name, norm in PLACES.items()}

experiment(
    name="ib-placement",
    paper="inductive-bias",
    title="Where LayerNorm stands",
    question="Does the place of LayerNorm change when a run groks, and do attention entropy and shortcuts tell why?",
    differs=AMONG_DISTRACTORS,
    base=HARD,
    arms=PLACEMENTS | RMS,
    seeds=SEEDS,
    quick=quick(1500),
    quick_seeds=2,
    claims=[
        Claim(
            name="speed",
            statement="The position of LayerNorm strongly modulates grokking speed.",
            rule=Differ(tuple(PLACEMENTS)),
            text="The six placements differ (permutation within seeds); disagrees if every two are alike within a "
            "quarter.",
        ),
        Claim(
            name="order",
            statement="LayerNorm before the MLP, before attention or on the value path makes grokking sooner than "
            "none; on the query/key path alone it makes it later.",
            rule=InEach(
                {place: Sooner(place, "none") for place in PLACES if place != "query/key path"}
                | {"query/key path": Sooner("none", "query/key path")}
            ),
            text="Each place against none, paired by seed: sooner, on the query/key path later.",
        ),
        Claim(
            name="rms",
            of="ours",
            statement="RMSNorm in the same place does what LayerNorm does.",
            rule=InEach({place: Alike((place, f"RMS, {place}"), 1.5) for place in PLACES}),
            text="Per place: time ratio within a factor of 1.5 (two one-sided tests).",
        ),
        Claim(
            name="entropy",
            statement="The higher the entropy of attention, the sooner a network groks.",
            rule=InEach(
                {
                    "at memorisation": Correlated("entropy_mem", FIRST_99, -1, cluster="seed"),
                    "while it waits": Correlated("entropy_wait", FIRST_99, -1, cluster="seed"),
                }
            ),
            text="Rank correlation of the first crossing of 99 % with the entropy of attention at the first crossing "
            "of 99 % training accuracy, and with its mean from there until test accuracy reaches 50 %; all "
            "runs, bootstrap over seeds.",
        ),
        Claim(
            name="shortcut",
            of="ours",
            statement="Runs that lean on distractors after memorising grok later.",
            rule=Correlated("distractor_reliance", FIRST_99, 1, cluster="seed"),
            text="Rank correlation of the first crossing of 99 % with the training accuracy lost when distractors "
            "are resampled, at the first checkpoint with training accuracy of 95 % or more and test accuracy "
            "below 50 %; all runs, bootstrap over seeds.",
        ),
    ],
    curves=("entropy",),
    pictures={
        "times": "times",
        "entropy-and-shortcuts": partial(shortcuts, arms=PLACEMENTS),
        "entropy-and-shortcuts-with-rms-norm": partial(shortcuts, arms=RMS),
    },
    probes=("shortcut",),
)
