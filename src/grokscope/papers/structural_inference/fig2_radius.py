"""Figure 2, the radius: norm matching at radii from below the initial norm to that at which nets memorise; in each regime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...experiments.base import Arms, Claim, experiment
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import InEach, NoLater, ShareAtLeast, in_regimes
from ...figures.accuracy import accuracy_overlay
from .common import DIFFERS, PAPER, QUICK
from .fig2 import ELSEWHERE, PRIOR, at_chance, matched

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...figures import RunCurves

RADII = (15.0, 17.9, 20.0, 22.5, 25.0, 27.5, 30.0, 35.0, 40.0)
MISLEADING = (20.0, 35.0)
"""Radii at which the adversarial prior is run; si-fig2 has 17.9 and 27.5."""
ARMS: Arms = {f"radius {r:g}, oracle": {**matched(r), **PRIOR["oracle"]} for r in RADII}
ARMS |= {f"radius {r:g}, adversarial": {**matched(r), **PRIOR["adversarial"]} for r in MISLEADING}
ARMS |= {f"radius {r:g}, no prior": {**matched(r), **PRIOR["no prior"]} for r in (22.5, 27.5)}
ARMS["weight decay, oracle"] = {"optim.weight_decay": 1.0, **PRIOR["oracle"]}
FEW = {"radius 15, oracle": {"constraint.norm": 12.0}, "radius 25, oracle": {"constraint.norm": 20.0}}
FEW |= {"weight decay, oracle": {}}


def with_oracle(runs: Sequence[RunCurves]) -> Figure:
    """With oracle attention: training accuracy, test accuracy and D over epochs, for all radii and for weight decay."""
    end = ", oracle"
    own = [run for run in runs if run.arm.endswith(end)]
    # radii are a sequence, in which none is green; the one arm beside them keeps the name, and so the colour, of the oracle
    return accuracy_overlay(
        [replace(run, arm=run.arm.removesuffix(end)) if run.arm.startswith("radius") else run for run in own]
    )


experiment(
    name="si-fig2-radius",
    paper="structural-inference",
    title="The radius of norm matching",
    question="At which radii does an MLP of fixed norm generalise, with and without the right attention?",
    base=PAPER,
    differs=DIFFERS + " β = 1; the paper's radius is lost.",
    arms=by_regime(ARMS),
    seeds=20,
    parts=list(REGIMES),
    quick=QUICK,
    quick_arms=quick_regime(FEW, FEW),
    quick_seeds=2,
    claims=[
        Claim(
            name="shell",
            statement="An MLP held on the right sphere generalises perfectly with oracle attention.",
            text="In each regime and at each radius: at least 60 % of the runs with the oracle prior reach 99 % test accuracy "
            "(exact binomial interval). The radii at which they do are the shell.",
            rule=in_regimes(InEach({f"{r:g}": ShareAtLeast(f"radius {r:g}, oracle", 0.6) for r in RADII})),
            remark=ELSEWHERE,
        ),
        Claim(
            name="misled",
            statement="Under norm matching, test accuracy remains at chance when attention is forced onto distractors.",
            text="In each regime and at each radius, of the runs that memorised: the mean of the best test accuracy lies below 5 "
            "%.",
            rule=in_regimes(InEach({f"{r:g}": at_chance(f"radius {r:g}, adversarial") for r in MISLEADING})),
        ),
        Claim(
            name="instead-of-decay",
            statement="Norm matching does what weight decay does: with oracle attention it takes no longer.",
            text="In each regime and at each radius from 20 to 30: the time to 99 % is at most 1.25 times that of weight decay "
            "(interval of the paired ratio).",
            rule=in_regimes(
                InEach(
                    {f"{r:g}": NoLater(f"radius {r:g}, oracle", "weight decay, oracle") for r in RADII if 20 <= r <= 30}
                )
            ),
            of="ours",
        ),
    ],
    pictures={"radius": "si-radius", "accuracy-with-the-oracle": with_oracle},
)
