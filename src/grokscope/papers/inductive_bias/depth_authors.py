"""Where LayerNorm stands in a deeper network, with the authors' settings: three layers, 64 wide."""

from __future__ import annotations

from dataclasses import replace

from ...config import Log
from ...experiments.base import Arms, Claim, experiment
from ...experiments.rules import Differ, InEach, Sooner
from ...models.parts.mlp.relu import ReLU
from ...models.transformer import Transformer
from .common import AUTHORS, DIFFERS, SEEDS, quick, with_norm

DEEP = replace(
    AUTHORS,
    model=Transformer(d=64, d_mlp=256, heads=4, layers=3, scope="full", mlp=ReLU(bias=True)),
    epochs=7000,
    log=Log(),
)
ARMS: Arms = {"none": {}} | {place: with_norm(place) for place in ("attention input", "both inputs", "MLP input")}

experiment(
    name="ib-depth-authors",
    paper="inductive-bias",
    title="Three layers (authors' settings)",
    question="Does the position of LayerNorm change how soon a deeper transformer groks?",
    settings="authors'",
    differs=DIFFERS + "; at most 7,000 epochs",
    base=DEEP,
    arms=ARMS,
    seeds=SEEDS,
    quick={**quick(1200), "model.layers": 2},
    quick_seeds=2,
    claims=[
        Claim(
            name="speed",
            statement="In three layers, too, the position of LayerNorm modulates grokking speed.",
            rule=Differ(tuple(ARMS)),
            text="The four placements differ (permutation within seeds); disagrees if every two are alike within a "
            "quarter.",
            reported="test loss vanishes at about 1,000 epochs (MLP), 1,700 (both), 5,000 (none, attention)",
        ),
        Claim(
            name="order",
            statement="In three layers, LayerNorm at the MLP input groks soonest, at both inputs sooner than none.",
            rule=InEach(
                {
                    "MLP input before both": Sooner("MLP input", "both inputs"),
                    "MLP input before none": Sooner("MLP input", "none"),
                    "both before none": Sooner("both inputs", "none"),
                }
            ),
            text="Paired by seed.",
        ),
    ],
    pictures={"times": "times", "accuracy": "accuracy"},
)
