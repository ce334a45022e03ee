"""Where LayerNorm stands, with the authors' settings: a, b and = alone, four heads, gain and bias."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.clocks import FIRST_99, STABLE_99
from ...experiments.rules import Differ, Fastest, InEach, Sooner, WithinRange
from .common import AUTHORS, DIFFERS, SEEDS, quick, small, with_norm

EXTENDED = {"stop.extend": 1.0}
"""Trained on until 99 % has held for as long again; the epochs of each arm bound what a run whose accuracy keeps falling costs."""
NONE = {**EXTENDED, "epochs": 16_000, "log.keep": 500}
LAYER: Arms = {
    "none": NONE,
    "attention input": {**with_norm("attention input"), **NONE},
    "MLP input": {**with_norm("MLP input", epochs=4000, log__keep=100), **EXTENDED},
    "both inputs": {**with_norm("both inputs", epochs=8000, log__keep=250), **EXTENDED},
    "query/key path": with_norm("query/key path", epochs=20_000),
    "value path": {**with_norm("value path", epochs=6000, log__keep=200), **EXTENDED},
}
SHOWN = ("MLP input", "both inputs", "attention input")
"""Places of which the authors show RMSNorm, too."""
RMS: Arms = {f"RMS, {place}": with_norm(place, "rms", log__keep=0) for place in SHOWN}

PUBLISHED = {
    "MLP input": (859, 954),
    "both inputs": (2510, 3297),
    "attention input": (3718, 7126),
    "none": (6613, 7763),
}
"""Epochs in the authors' notebook: where the first of five seeds has 100 % test accuracy, and where their mean has 99.5 %."""

experiment(
    name="ib-placement-authors",
    paper="inductive-bias",
    title="Where LayerNorm stands (authors' settings)",
    question="Does the position of LayerNorm change how soon a transformer groks, as the authors show it?",
    settings="authors'",
    differs=DIFFERS,
    base=AUTHORS,
    arms=LAYER | RMS,
    seeds=SEEDS,
    quick=quick(1500),
    quick_seeds=2,
    quick_arms=small(LAYER | RMS),
    claims=[
        Claim(
            name="speed",
            statement="The position of LayerNorm strongly modulates grokking speed.",
            rule=Differ(tuple(LAYER)),
            text="The six placements differ (permutation within seeds); disagrees if every two are alike within a "
            "quarter.",
            reported="99.5 % test accuracy (mean of five seeds) at 954 epochs with LayerNorm at the MLP input, at "
            "7,763 without",
        ),
        Claim(
            name="order",
            statement="LayerNorm before the MLP, before attention or on the value path makes grokking sooner than "
            "none; on the query/key path alone it makes it later.",
            rule=InEach(
                {place: Sooner(place, "none") for place in LAYER if place not in ("none", "query/key path")}
                | {"query/key path": Sooner("none", "query/key path")}
            ),
            text="Each place against none, paired by seed: sooner, on the query/key path later.",
            reported="epochs 954 (MLP), about 1,700 (value path), 3,297 (both), 7,126 (attention), 7,763 (none); "
            "query/key path not by 10,000",
        ),
        Claim(
            name="soonest",
            statement="Of all positions, LayerNorm at the MLP input alone groks soonest.",
            rule=Fastest("MLP input", {place: (place,) for place in LAYER}),
            text="Sooner than each of the other five, paired by seed.",
            reported="954 epochs; the next is the value path with about 1,700",
        ),
        Claim(
            name="times",
            statement="Runs grok at the epochs that the authors publish.",
            rule=InEach(
                {
                    place: WithinRange(FIRST_99, place, round(low / 1.25), round(1.25 * high))
                    for place, (low, high) in PUBLISHED.items()
                }
            ),
            text="The median first crossing of 99 % lies between the epoch at which the first of their five seeds "
            "has 100 % and that at which their mean has 99.5 %, give or take a quarter.",
            reported="; ".join(f"{place}: {low:,} to {high:,}" for place, (low, high) in PUBLISHED.items()),
        ),
        Claim(
            name="rms",
            statement="RMSNorm in these positions makes grokking sooner, too.",
            rule=InEach({place: Sooner(f"RMS, {place}", "none") for place in SHOWN}),
            text="RMSNorm in each place against none, paired by seed.",
            reported="test loss vanishes at about 800 epochs (MLP), 2,500 (both), 6,000 (attention), 7,500 (none)",
        ),
        Claim(
            name="stable",
            of="ours",
            statement="LayerNorm at the MLP input is sooner than none also by the clock on which test accuracy has "
            "to stay.",
            rule=Sooner("MLP input", "none", STABLE_99),
            text="The same comparison on the clock: 99 % stable to the end of a run that trains on for as long again.",
        ),
    ],
    pictures={"times": "times", "accuracy": "accuracy"},
)
