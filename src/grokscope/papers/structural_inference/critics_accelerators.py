"""Critics 5: the known accelerators on equal terms. Three trials each, by three clocks: epochs, stable epochs, seconds.

Trials follow the accelerators' authors where they say something: OrthoGrad with cross-entropy, no decay and a tiny ε; StableMax
at a larger learning rate; Muon with a tenth of the decay; Lion with a smaller learning rate and a larger decay. None was tuned
elsewhere, and whether they reach their authors' numbers on their authors' tasks is not asked here. Runs train on after grokking
for as long again, so that a first crossing that does not last is seen.
"""

from __future__ import annotations

from dataclasses import replace

from ...config import Stop
from ...experiments.base import Arms, Claim, experiment, kept
from ...experiments.clocks import FIRST_99, STABLE_99, in_seconds
from ...experiments.rules import Fastest
from .common import LOST, MORE, PAPER, QUICK

FAMILIES: dict[str, Arms] = {
    "nothing": {"nothing": {}},
    "KL prior": {f"KL prior β {b:g}": {"prior.beta": b} for b in (0.1, 0.3, 1.0)},
    "Grokfast": {
        f"Grokfast λ {lamb:g}": {"filter.kind": "grokfast-ema", "filter.lamb": lamb} for lamb in (0.5, 2.0, 5.0)
    },
    "OrthoGrad": {
        f"OrthoGrad lr {lr:g}": {
            "filter.kind": "orthograd",
            "optim.lr": lr,
            "optim.weight_decay": 0.0,
            "optim.eps": 1e-25,
        }
        for lr in (1e-3, 3e-3, 1e-2)
    },
    "StableMax": {
        f"StableMax lr {lr:g}, wd {wd:g}": {"loss": "stablemax", "optim.lr": lr, "optim.weight_decay": wd}
        for lr, wd in ((1e-3, 1.0), (1e-2, 0.0), (1e-2, 0.1))
    },
    "Muon": {
        f"Muon lr {lr:g}, wd {wd:g}": {"optim.kind": "muon", "optim.lr": lr, "optim.weight_decay": wd}
        for lr, wd in ((3e-3, 1.0), (1e-2, 0.1), (2e-2, 0.1))
    },
    "Lion": {
        f"Lion lr {lr:g}, wd {wd:g}": {"optim.kind": "lion", "optim.lr": lr, "optim.weight_decay": wd}
        for lr, wd in ((1e-4, 10.0), (2e-4, 5.0), (3e-4, 3.0))
    },
    "more decay": {f"weight decay {wd:g}": {"optim.weight_decay": wd} for wd in (2.0, 3.0, 5.0)},
}
TRIALS = {family: tuple(arms) for family, arms in FAMILIES.items()}
TEXT = (
    "Each family's best trial (earliest median) is chosen on half of the seeds; on the other half the prior's is sooner than each "
    "other's (paired permutation test, Holm's correction over the families)"
)

experiment(
    name="si-critics-accelerators",
    paper="structural-inference",
    title="Accelerators on equal terms",
    question="Is the KL prior faster than the accelerators that need no knowledge of the structure?",
    base=replace(PAPER, epochs=20_000, stop=Stop(extend=1.0)),
    differs=f"{LOST}; 20,000 epochs instead of 10,000, and as many again after grokking as before. The paper compares with none of "
    f"these accelerators. {MORE}",
    arms={arm: settings for family in FAMILIES.values() for arm, settings in family.items()},
    seeds=40,
    priced=True,
    quick=QUICK,
    quick_seeds=2,
    quick_arms=kept(list(arms)[len(arms) // 2] for arms in FAMILIES.values()),
    claims=[
        Claim(
            name="fastest",
            statement="The KL prior ends the wait in fewer epochs than the known accelerators.",
            text=f"{TEXT}, on the first crossing of 99 %.",
            rule=Fastest("KL prior", TRIALS, FIRST_99),
            of="ours",
        ),
        Claim(
            name="fastest-stable",
            statement="The KL prior reaches test accuracy that lasts in fewer epochs than the known accelerators.",
            text=f"{TEXT}, on the time from which 99 % is never lost again.",
            rule=Fastest("KL prior", TRIALS, STABLE_99),
            of="ours",
        ),
        Claim(
            name="fastest-in-seconds",
            statement="The KL prior ends the wait in fewer seconds than the known accelerators.",
            text=f"{TEXT}, on epochs to the first crossing times the seconds of an epoch when one run has the device to itself.",
            rule=Fastest("KL prior", TRIALS, in_seconds(FIRST_99)),
            of="ours",
        ),
    ],
    pictures={"times": "times"},
)
