"""Figure 4: the Bayesian ticket (a prior on attention) against the lottery ticket (a pruned network, rewound); in each regime.

Lottery ticket as in App. G.3: trained for 10,000 epochs, pruned, put back to its original weights. The paper gives neither the
pruning rate nor β: here 0.6, the rate of grokking tickets, and 0.3.
"""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.clauses import TOTAL
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import no_later_in_each, regime_pairs, sooner_in_each
from .common import PAPER, QUICK

LOTTERY = {"ticket.kind": "magnitude", "ticket.run": "@dense, 10,000 epochs", "ticket.rate": 0.6}
ARMS: Arms = {
    "dense, 10,000 epochs": {"epochs": 10_000, "stop.accuracy": 0.0},
    "lottery ticket": LOTTERY,
    "lottery mask on fresh weights": {**LOTTERY, "ticket.weights": "fresh"},
    "Bayesian ticket": {"prior.beta": 0.3},
}

experiment(
    name="si-fig4",
    paper="structural-inference",
    title="Bayesian ticket and lottery ticket",
    question="Does a prior on attention do what a pruned network does, without the network?",
    base=PAPER,
    arms=by_regime(ARMS),
    parts=list(REGIMES),
    quick=QUICK,
    quick_arms=quick_regime(ARMS, {"dense, 10,000 epochs": {"epochs": 1500}}),
    claims=[
        Claim(
            name="matches",
            statement="The Bayesian ticket matches or outperforms the lottery ticket.",
            rule="Holds in a regime if the Bayesian ticket's median is at most 1.25 times the lottery ticket's; does not hold if "
            "the log-rank test (p < 0.05 after Holm's correction over the regimes) finds it later.",
            judge=no_later_in_each(regime_pairs(("Bayesian ticket", "lottery ticket"))),
        ),
        Claim(
            name="outperforms",
            statement="The Bayesian ticket groks sooner than the lottery ticket.",
            rule="Holds in a regime if log-rank p < 0.05 after Holm's correction over the regimes, with the earlier median.",
            judge=sooner_in_each(regime_pairs(("Bayesian ticket", "lottery ticket"))),
        ),
        Claim(
            name="outperforms-in-all",
            statement="Counting the epochs that the lottery ticket took to find, the Bayesian ticket is sooner.",
            rule="The same on total epochs: holds in a regime if log-rank p < 0.05 after Holm's correction, and an earlier median.",
            judge=sooner_in_each(regime_pairs(("Bayesian ticket", "lottery ticket")), TOTAL),
        ),
        Claim(
            name="lottery",
            statement="The lottery ticket groks sooner than the dense network it came from.",
            rule="Holds in a regime if log-rank p < 0.05 after Holm's correction over the regimes, with the earlier median.",
            judge=sooner_in_each(regime_pairs(("lottery ticket", "dense, 10,000 epochs"))),
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)
