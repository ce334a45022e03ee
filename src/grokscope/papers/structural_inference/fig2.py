"""Figure 2: norm apart from structure. {weight decay, none, norm-matched} × {no prior, oracle, adversarial}, in each regime."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, crossed, experiment
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import groks, in_regimes, never_groks
from .common import PAPER, QUICK

NORM: Arms = {
    "weight decay": {"optim.weight_decay": 1.0},
    "no decay": {"optim.weight_decay": 0.0},
    # the radius is not given in the paper: that of the initial weights, √(d + d_mlp) = 17.9, for d = 64 and d_mlp = 256
    "norm-matched": {"optim.weight_decay": 0.0, "constraint.norm": 17.9},
}
PRIOR: Arms = {
    "no prior": {"prior.beta": 0.0},
    "oracle": {"prior.beta": 1.0},
    "adversarial": {"prior.beta": 1.0, "prior.target": "adversarial"},
}
ARMS = crossed(NORM, PRIOR)
ARMS["norm-matched, adversarial, qk penalty"] = {**ARMS["norm-matched, adversarial"], "constraint.qk_penalty": 0.5}
MISLED = ["norm-matched, adversarial", "norm-matched, adversarial, qk penalty", "weight decay, adversarial"]
BOTH = ["weight decay, oracle", "norm-matched, oracle"]
JUDGED = [*MISLED, *BOTH, "no decay, oracle", "weight decay, no prior"]

experiment(
    name="si-fig2",
    paper="structural-inference",
    title="Norm and structure",
    question="Are norm control and structure both needed, and do they suffice together?",
    base=PAPER,
    arms=by_regime(ARMS),
    parts=list(REGIMES),
    quick=QUICK,
    quick_arms=quick_regime(JUDGED, {arm: {"constraint.norm": 15.5} for arm in JUDGED if "norm-matched" in arm}),
    quick_seeds=2,
    claims=[
        Claim(
            name="misled",
            statement="Norm-matched runs stay at chance when attention is forced onto distractors.",
            rule="Holds in a regime if no norm-matched or decayed run with the adversarial prior groks.",
            judge=in_regimes(never_groks(MISLED)),
        ),
        Claim(
            name="structure-alone",
            statement="Oracle structure without norm control does not reach full generalisation.",
            rule="Holds in a regime if no run with the oracle prior and without decay or norm matching groks.",
            judge=in_regimes(never_groks(["no decay, oracle"])),
        ),
        Claim(
            name="both",
            statement="Norm control and oracle structure together generalise fully.",
            rule="Holds in a regime for a way of norm control if at least 80 % of its runs with the oracle prior grok.",
            judge=in_regimes(groks(BOTH, 0.8)),
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times", "norm": "mlp-norm"},
)
