"""Figure 4: the Bayesian ticket (a prior on attention) against the lottery ticket (a pruned network, rewound); in each regime.

Lottery ticket as in App. G.3: trained for 10,000 epochs, pruned, put back to its original weights. The paper gives neither the
pruning rate nor β: here 0.6, the rate of grokking tickets, and 0.3. A ticket taken when the dense run has grokked is beside it:
after 10,000 epochs weight decay has changed which weights are large. There is no ticket of a dense run that never generalised.
"""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.clocks import FIRST_99, with_origins
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import Conditional, InEach, NoLater, Reached, Rule, Sooner, in_regimes
from .common import DIFFERS, PAPER, QUICK

PRUNED = {"ticket.kind": "magnitude", "ticket.rate": 0.6}
LATE, EARLY = {**PRUNED, "ticket.run": "@dense, 10,000 epochs"}, {**PRUNED, "ticket.run": "@dense"}
ARMS: Arms = {
    "dense": {"prior.beta": 0.0},
    "dense, 10,000 epochs": {"epochs": 10_000, "stop.accuracy": 0.0},
    "ticket after 10,000 epochs": LATE,
    "ticket after 10,000 epochs, fresh weights": {**LATE, "ticket.weights": "fresh"},
    "ticket at grokking": EARLY,
    "Bayesian ticket": {"prior.beta": 0.3},
}
LOTTERY = [arm for arm in ARMS if arm.startswith("ticket")]


def given_dense(rule: Rule) -> Conditional:
    """Only seeds whose dense run generalised: of the others there is no winning ticket."""
    return Conditional(rule, Reached("dense"))


experiment(
    name="si-fig4",
    paper="structural-inference",
    title="Bayesian ticket and lottery ticket",
    question="Does a prior on attention do what a pruned network does, without the network?",
    base=PAPER,
    differs=DIFFERS + " The pruning rate (0.6) is ours.",
    arms=by_regime(ARMS),
    seeds=20,
    parts=list(REGIMES),
    quick=QUICK,
    quick_arms=quick_regime(ARMS, {"dense, 10,000 epochs": {"epochs": 1300}}),
    claims=[
        Claim(
            name="matches",
            statement="The Bayesian ticket matches or outperforms the full lottery ticket transfer.",
            text="In each regime and for each lottery ticket, over the seeds whose dense run generalised: the Bayesian ticket "
            "takes at most 1.25 times as long to 99 % (interval of the paired ratio). Disagrees if the interval lies above.",
            rule=in_regimes(InEach({arm: given_dense(NoLater("Bayesian ticket", arm)) for arm in LOTTERY})),
        ),
        Claim(
            name="outperforms",
            statement="The Bayesian ticket groks sooner than the lottery ticket.",
            text="In each regime and for each lottery ticket, over the same seeds: paired permutation test.",
            rule=in_regimes(InEach({arm: given_dense(Sooner("Bayesian ticket", arm)) for arm in LOTTERY})),
            of="ours",
        ),
        Claim(
            name="outperforms-in-all",
            statement="Counting the epochs that the lottery ticket took to find, the Bayesian ticket is sooner.",
            text="The same on total epochs, those of the dense run included.",
            rule=in_regimes(
                InEach({arm: given_dense(Sooner("Bayesian ticket", arm, with_origins(FIRST_99))) for arm in LOTTERY})
            ),
            of="ours",
        ),
        Claim(
            name="lottery",
            statement="A pruned winning ticket accelerates grokking.",
            text="In each regime and for each lottery ticket, over the same seeds: it reaches 99 % sooner than the dense run "
            "(paired permutation test).",
            rule=in_regimes(InEach({arm: given_dense(Sooner(arm, "dense")) for arm in LOTTERY})),
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)
