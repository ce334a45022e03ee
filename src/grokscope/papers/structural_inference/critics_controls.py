"""Critics 6: perhaps any live loss term ends the plateau. Matched noise, wrong targets, frozen attention; in each regime."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import groks, in_regimes, never_groks, regime_pairs, sooner_in_each
from .common import PAPER, PRIOR, QUICK

CONTROLS: Arms = {
    "noise of matched size": {"prior.kind": "noise", "prior.beta": 0.3},
    "random target": {"prior.beta": 0.3, "prior.target": "random"},
    "uniform target": {"prior.beta": 0.3, "prior.target": "uniform"},
    "frozen uniform": {"prior.beta": 0.0, "constraint.attention": "uniform"},
    "frozen oracle": {"prior.beta": 0.0, "constraint.attention": "oracle"},
}
ARMS = PRIOR | CONTROLS

experiment(
    name="si-critics-controls",
    paper="structural-inference",
    title="Controls",
    question="Is it the structure that helps, or would any live loss term do?",
    base=PAPER,
    arms=by_regime(ARMS),
    parts=list(REGIMES),
    quick=QUICK,
    quick_arms=quick_regime(ARMS),
    claims=[
        Claim(
            name="structure",
            statement="The oracle prior helps more than a gradient of the same size without its knowledge.",
            rule="Holds in a regime if runs with the oracle prior grok sooner than runs with noise of matched size (log-rank "
            "p < 0.05 after Holm's correction over the regimes).",
            judge=sooner_in_each(regime_pairs(("oracle", "noise of matched size"))),
        ),
        Claim(
            name="any-term",
            statement="Any live loss term ends the wait, structure or not.",
            rule="For each control in each regime: log-rank p < 0.05 after Holm's correction against no prior, with the earlier "
            "median.",
            judge=sooner_in_each(
                {
                    f"{regime}, {arm}": (f"{regime}, {arm}", f"{regime}, no prior")
                    for regime in REGIMES
                    for arm in ("noise of matched size", "random target", "uniform target")
                }
            ),
        ),
        Claim(
            name="wrong-targets",
            statement="With a prior that knows nothing no run generalises.",
            rule="Holds in a regime if no run with a random or a uniform target groks.",
            judge=in_regimes(never_groks(["random target", "uniform target"])),
        ),
        Claim(
            name="frozen-oracle",
            statement="Attention frozen at the oracle generalises.",
            rule="Holds in a regime if at least 80 % of its runs grok.",
            judge=in_regimes(groks(["frozen oracle"], 0.8)),
        ),
        Claim(
            name="frozen-uniform",
            statement="Uniform attention alone is not enough on short sequences.",
            rule="Holds in a regime if no run with attention frozen at uniform weights groks.",
            judge=in_regimes(never_groks(["frozen uniform"])),
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)
