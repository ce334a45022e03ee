"""Critics 4: the Bayesian ticket knows the informative tokens, the lottery ticket does not. Tickets on equal terms, in each regime.

All tickets come from the dense run of their seed, as it is when it has grokked (or at its end): a routing ticket is that run's
attention as the target of the prior, a lottery ticket its largest weights put back to their start. Two currencies: the epochs of
the run itself, and those with the dense run's on top, without which there is no ticket.
"""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.clauses import EPOCHS, TOTAL
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import no_later_in_each, regime_pairs, sooner_in_each
from .common import PAPER, QUICK

ROUTING = {"prior.beta": 0.3, "prior.target": "teacher", "prior.teacher": "@dense"}
LOTTERY = {"ticket.kind": "magnitude", "ticket.run": "@dense", "ticket.rate": 0.6}
TICKETS: Arms = {
    "routing ticket": ROUTING,
    "lottery ticket": LOTTERY,
    "both": {**ROUTING, **LOTTERY},
    "MLP weights only": {"ticket.kind": "transplant", "ticket.run": "@dense", "ticket.parts": ["mlp"]},
    "attention weights only": {"ticket.kind": "transplant", "ticket.run": "@dense", "ticket.parts": ["attention"]},
    "mask only": {**LOTTERY, "ticket.weights": "fresh"},
}
ARMS: Arms = {"dense": {"prior.beta": 0.0}, "oracle": {"prior.beta": 0.3}} | TICKETS

experiment(
    name="si-critics-tickets",
    paper="structural-inference",
    title="Fair tickets",
    question="Which part of a trained network is the ticket, and what does it cost?",
    base=PAPER,
    arms=by_regime(ARMS),
    parts=list(REGIMES),
    quick=QUICK,
    quick_arms=quick_regime(ARMS),
    claims=[
        Claim(
            name="tickets",
            statement="Every ticket groks sooner than the dense network it came from.",
            rule="For each ticket in each regime: log-rank p < 0.05 after Holm's correction against dense, and an earlier median.",
            judge=sooner_in_each({f"{r}, {t}": (f"{r}, {t}", f"{r}, dense") for r in REGIMES for t in TICKETS}),
        ),
        Claim(
            name="tickets-paid",
            statement="A ticket is still sooner when the epochs that it took to find are counted.",
            rule="For each ticket in each regime, on total epochs: log-rank p < 0.05 after Holm's correction against dense, and an "
            "earlier median.",
            judge=sooner_in_each({f"{r}, {t}": (f"{r}, {t}", f"{r}, dense") for r in REGIMES for t in TICKETS}, TOTAL),
        ),
        Claim(
            name="routing",
            statement="On equal terms the routing ticket matches or outperforms the lottery ticket.",
            rule="Holds in a regime if the routing ticket's median is at most 1.25 times the lottery ticket's; does not hold if "
            "the log-rank test (p < 0.05 after Holm's correction over the regimes) finds it later. Both come from the same runs.",
            judge=no_later_in_each(regime_pairs(("routing ticket", "lottery ticket")), clock=EPOCHS),
        ),
        Claim(
            name="routing-paid",
            statement="With the epochs that both took to find, the routing ticket matches or outperforms the lottery ticket.",
            rule="The same on total epochs: holds in a regime if its median is at most 1.25 times the lottery ticket's.",
            judge=no_later_in_each(regime_pairs(("routing ticket", "lottery ticket")), clock=TOTAL),
        ),
        Claim(
            name="both",
            statement="Routing and lottery ticket together grok sooner than the lottery ticket alone.",
            rule="Holds in a regime if log-rank p < 0.05 after Holm's correction over the regimes, with the earlier median.",
            judge=sooner_in_each(regime_pairs(("both", "lottery ticket"))),
        ),
        Claim(
            name="oracle",
            statement="Knowing the informative tokens beforehand is better than a ticket found by training.",
            rule="For each ticket in each regime, on total epochs: log-rank p < 0.05 after Holm's correction and the oracle's "
            "median earlier; holds in a regime if so for all.",
            judge=sooner_in_each(regime_pairs(*(("oracle", ticket) for ticket in TICKETS)), TOTAL),
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)
