"""Figure 3: how the strength of the prior sets the time of grokking, in each regime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...experiments.base import Claim, arms_over, experiment
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import broken_line, in_regimes, regime_pairs, sooner_in_each
from ...figures import figures
from .common import PAPER, QUICK
from .figures.delay import delay_against

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store.results import Results

BETAS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
SWEEP = arms_over("prior.beta", BETAS, "β = {:g}")
ARMS = {"no prior": {"prior.beta": 0.0}} | SWEEP
LAW = in_regimes(broken_line(list(SWEEP), lambda runs: 1 / runs["prior.beta"], "1/β"))


@figures.register("si-delay", takes="results", title="Delay against strength")
def delay(results: Results) -> Figure:
    """The paper's picture: grokking time against 1/β, with the fit that the claim rests on."""
    runs = results.runs[results.runs["prior.beta"] > 0]
    points = runs.assign(
        panel=runs["arm"].str.rsplit(", ", n=1).str[0], series="oracle prior", x=1 / runs["prior.beta"]
    )
    return delay_against(points, name="1/β", laws=LAW(results.runs).numbers)


experiment(
    name="si-fig3",
    paper="structural-inference",
    title="Delay against strength",
    question="Is the grokking time linear in 1/β down to a floor?",
    base=PAPER,
    arms=by_regime(ARMS),
    parts=list(REGIMES),
    quick=QUICK,
    quick_arms=quick_regime(ARMS),
    claims=[
        Claim(
            name="accelerates",
            statement="A KL prior towards the informative tokens makes grokking come sooner.",
            rule="Holds in a regime if runs with β = 0.3 grok sooner than runs without a prior (log-rank p < 0.05 after Holm's "
            "correction over the regimes).",
            judge=sooner_in_each(regime_pairs(("β = 0.3", "no prior"))),
        ),
        Claim(
            name="inverse-law",
            statement="The grokking epoch is linear in 1/β down to a floor.",
            rule="Holds in a regime if in the best fit of t = max(floor, a + b/β) the bootstrap interval of b lies above 0 and "
            "R² ≥ 0.8; strengths with a run that never grokked are left out, and fewer than four do not decide.",
            judge=LAW,
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times", "delay": "si-delay"},
)
