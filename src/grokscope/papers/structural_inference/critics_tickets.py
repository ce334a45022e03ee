"""Critics 4: the Bayesian ticket knows the informative tokens, the lottery ticket does not. Tickets on equal terms, in each
regime.

All tickets come from the dense run of their seed, as it is when it has grokked: a routing ticket is that run's attention as the
target of the prior, a lottery ticket its largest weights put back to their start. There is no ticket of a run that never
generalised. With the dense run's epochs on top no ticket can be sooner than the dense run: what is compared are the epochs of
the run itself.
"""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import InEach, NoLater, Sooner, in_regimes
from .common import DIFFERS, PAPER, QUICK
from .fig4 import given_dense

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
    differs=DIFFERS + " The pruning rate (0.6) is ours.",
    arms=by_regime(ARMS),
    seeds=20,
    parts=list(REGIMES),
    quick=QUICK,
    quick_arms=quick_regime(ARMS),
    claims=[
        Claim(
            name="tickets",
            statement="A ticket decomposes into routing and representation: every part of it accelerates grokking.",
            text="In each regime and for each ticket, over the seeds whose dense run generalised: it reaches 99 % sooner than "
            "the dense run (paired permutation test).",
            rule=in_regimes(InEach({ticket: given_dense(Sooner(ticket, "dense")) for ticket in TICKETS})),
            of="ours",
        ),
        Claim(
            name="both",
            statement="Supplying both tickets accelerates grokking faster than the winning ticket alone.",
            text="In each regime, over the same seeds: routing and lottery ticket together are sooner than the lottery ticket "
            "(paired permutation test).",
            rule=in_regimes(given_dense(Sooner("both", "lottery ticket"))),
        ),
        Claim(
            name="routing",
            statement="On equal terms the routing ticket matches or outperforms the lottery ticket.",
            text="In each regime, over the same seeds: the routing ticket takes at most 1.25 times as long (interval of the "
            "paired ratio). Both come from the same runs, so their total epochs differ by the same.",
            rule=in_regimes(given_dense(NoLater("routing ticket", "lottery ticket"))),
        ),
        Claim(
            name="oracle",
            statement="Knowing the informative tokens beforehand is better than any ticket found by training.",
            text="In each regime and for each ticket, over the same seeds, on the epochs of the run itself: the oracle prior is "
            "sooner (paired permutation test).",
            rule=in_regimes(InEach({ticket: given_dense(Sooner("oracle", ticket)) for ticket in TICKETS})),
            of="ours",
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)
