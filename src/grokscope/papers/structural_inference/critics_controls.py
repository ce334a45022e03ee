"""Critics 6: perhaps any live loss term ends the plateau. Matched noise, wrong targets, frozen attention; in each regime.

The noise has the size of the KL prior's gradient on the attention logits and, to within a third, on W_Q and W_K
(`priors/noise.py`). Noise on all weights is beside it: it needs no attention at all.
"""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import InEach, ShareAtLeast, Sooner, in_regimes
from .common import DIFFERS, PAPER, PRIOR, QUICK

NOISE: Arms = {
    "noise of matched size": {"prior.kind": "noise", "prior.beta": 0.3, "prior.drawn": "step"},
    "noise 0.01 on the weights": {"prior.beta": 0.0, "noise.weights": 0.01},
    "noise 0.03 on the weights": {"prior.beta": 0.0, "noise.weights": 0.03},
}
WRONG: Arms = {
    "random target": {"prior.beta": 0.3, "prior.target": "random"},
    "uniform target": {"prior.beta": 0.3, "prior.target": "uniform"},
}
FROZEN: Arms = {
    "frozen uniform": {"prior.beta": 0.0, "constraint.attention": "uniform"},
    "frozen oracle": {"prior.beta": 0.0, "constraint.attention": "oracle"},
}
ARMS = PRIOR | NOISE | WRONG | FROZEN

experiment(
    name="si-critics-controls",
    paper="structural-inference",
    title="Controls",
    question="Is it the structure that helps, or would any live loss term do?",
    base=PAPER,
    differs=DIFFERS + " The paper has none of these controls.",
    arms=by_regime(ARMS),
    seeds=30,
    parts=list(REGIMES),
    quick=QUICK,
    quick_arms=quick_regime(arm for arm in ARMS if arm != "noise 0.01 on the weights"),
    claims=[
        Claim(
            name="structure",
            statement="The structural prior helps through what it knows: more than a gradient of the same size without knowledge.",
            text="In each regime: runs with the oracle prior reach 99 % sooner than runs with noise of matched size (paired "
            "permutation test).",
            rule=in_regimes(Sooner("oracle", "noise of matched size")),
        ),
        Claim(
            name="any-term",
            statement="Any live loss term ends the wait, structure or not.",
            text="In each regime and for noise of matched size, a random and a uniform target: it reaches 99 % sooner than no "
            "prior (paired permutation test).",
            rule=in_regimes(InEach({arm: Sooner(arm, "no prior") for arm in ("noise of matched size", *WRONG)})),
            of="critic",
        ),
        Claim(
            name="weight-noise",
            statement="Pure noise on the weights ends the wait.",
            text="In each regime and for each size: runs with Gaussian noise on every weight in every step reach 99 % sooner "
            "than runs without (paired permutation test).",
            rule=in_regimes(InEach({arm: Sooner(arm, "no prior") for arm in NOISE if arm.endswith("weights")})),
            of="critic",
        ),
        Claim(
            name="frozen-oracle",
            statement="With attention frozen at the oracle, the MLP generalises.",
            text="In each regime: at least 80 % of its runs reach 99 % (exact binomial interval).",
            rule=in_regimes(ShareAtLeast("frozen oracle", 0.8)),
        ),
        Claim(
            name="frozen-uniform",
            statement="Uniform attention alone is enough on short sequences.",
            text="In each regime: at least 80 % of the runs with attention frozen at uniform weights reach 99 % (exact binomial "
            "interval).",
            rule=in_regimes(ShareAtLeast("frozen uniform", 0.8)),
            of="critic",
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)
