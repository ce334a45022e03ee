"""Figure 16: with a good structure weight decay is not needed. Tickets trained without weight decay, by pruning rate.

The authors' rate of 0.81 is one of all weights together (their code), taken by the clock of 95 % (§3.1); the same rates of
each matrix stand beside it.
"""

from __future__ import annotations

from functools import partial

from ...experiments.base import Arms, Claim, experiment
from ...experiments.clocks import FIRST_95, FIRST_99, Clock
from ...experiments.rules import InEach, ShareAtLeast, ShareAtMost
from .common import DENSE, MLP, PAPER, QUICK, SEEDS, given, last_only, ticket
from .figures.ratio import ratio_against

RATES = (0.6, 0.7, 0.8, 0.81, 0.82, 0.85, 0.9)
CRITICAL, BEYOND = 0.81, (0.82, 0.85, 0.9)
NO_DECAY = {"optim.weight_decay": 0.0, "epochs": 10_000}
"""Without decay nothing generalises late: of tickets that reached 95 % within 30,000 epochs none took more than 2,000."""
SCOPES = {"all weights": "global rate {}, no decay", "each matrix": "rate {}, no decay"}
LAYERS: Arms = last_only({f"rate {rate}, no decay": {**ticket(rate), **NO_DECAY} for rate in RATES})
GLOBAL: Arms = last_only(
    {f"global rate {rate}, no decay": {**ticket(rate, scope="global"), **NO_DECAY} for rate in RATES}
)
SHARE, FEW = 0.8, 0.2


def _critical(name: str, clock: Clock, statement: str) -> Claim:
    return Claim(
        name=name,
        statement=statement,
        reported="0.81 is the largest rate that generalises (App. E), for one network",
        text=f"Agrees if the exact interval of the share of tickets at rate 0.81 with the {clock} lies above {100 * SHARE:.0f} %, "
        "given that the dense network (with decay) generalised; disagrees if below.",
        rule=given(InEach({scope: ShareAtLeast(arm.format(CRITICAL), SHARE, clock) for scope, arm in SCOPES.items()})),
    )


experiment(
    name="gt-fig16",
    paper=PAPER,
    title="Without weight decay",
    question="Is there a pruning rate at which the ticket generalises without weight decay?",
    base=MLP,
    arms=DENSE | last_only({"dense, no decay": NO_DECAY}) | LAYERS | GLOBAL,
    seeds=2 * SEEDS,
    differs="tickets are taken when 99 % test accuracy has held for 100 epochs, not after the last of 30,000, and train "
    "for 10,000; rates of each matrix are ours, beside the authors' rates of all weights",
    quick=QUICK,
    quick_arms={
        arm: {"epochs": 2500}
        for arm in ("dense", "dense, no decay", *(f"rate {rate}, no decay" for rate in (0.6, 0.7, 0.8, 0.81, 0.9)))
    }
    | {"global rate 0.81, no decay": {"epochs": 2500}},
    quick_seeds=2,
    claims=[
        _critical(
            "critical", FIRST_95, "At the critical pruning rate of 0.81 the ticket generalises without weight decay."
        ),
        _critical("critical-99", FIRST_99, "At that rate its test accuracy reaches perfect generalisation."),
        Claim(
            name="beyond",
            statement="At pruning rates above 0.81 it does not.",
            reported="0.81 is the largest rate that generalises; at 0.9 test accuracy falls dramatically (App. E)",
            text=f"For each rate: agrees if the exact interval of the share that reaches 95 % lies below {100 * FEW:.0f} %, given "
            "that the dense network (with decay) generalised; disagrees if above.",
            rule=given(
                InEach(
                    {
                        f"{scope}, {rate}": ShareAtMost(arm.format(rate), FEW, FIRST_95)
                        for scope, arm in SCOPES.items()
                        for rate in BEYOND
                    }
                )
            ),
        ),
        Claim(
            name="dense",
            statement="Without weight decay the dense network does not generalise.",
            text="Agrees if the exact interval of the share of dense runs without weight decay that reach 95 % lies "
            f"below {100 * FEW:.0f} %.",
            rule=ShareAtMost("dense, no decay", FEW, FIRST_95),
        ),
    ],
    pictures={
        "accuracy": "train-test",
        "times": partial(
            ratio_against,
            by="ticket.rate",
            name="pruning rate of each matrix, no weight decay",
            zero="dense, no decay",
            arms=list(LAYERS),
        ),
        "times-global": partial(
            ratio_against,
            by="ticket.rate",
            name="pruning rate of all weights, no weight decay",
            zero="dense, no decay",
            arms=list(GLOBAL),
        ),
    },
)
