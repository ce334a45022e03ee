"""Critics 5: the known accelerators on equal terms. Three trials each, five seeds per trial, in epochs and in seconds."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment, kept
from ...experiments.clauses import EPOCHS, SECONDS
from ...experiments.rules import fastest_family
from .common import PAPER, QUICK

FAMILIES: dict[str, Arms] = {
    "nothing": {"nothing": {}},
    "KL prior": {f"KL prior β {b:g}": {"prior.beta": b} for b in (0.1, 0.3, 1.0)},
    "Grokfast": {
        f"Grokfast λ {lamb:g}": {"filter.kind": "grokfast-ema", "filter.lamb": lamb} for lamb in (1.0, 2.0, 5.0)
    },
    "OrthoGrad": {
        f"OrthoGrad + StableMax wd {wd:g}": {
            "filter.kind": "orthograd",
            "loss": "stablemax",
            "optim.weight_decay": wd,
        }
        for wd in (0.0, 0.3, 1.0)
    },
    "Muon": {f"Muon lr {lr:g}": {"optim.kind": "muon", "optim.lr": lr} for lr in (3e-3, 1e-2, 3e-2)},
    "Lion": {f"Lion lr {lr:g}": {"optim.kind": "lion", "optim.lr": lr} for lr in (1e-4, 3e-4, 1e-3)},
    "more decay": {f"weight decay {wd:g}": {"optim.weight_decay": wd} for wd in (2.0, 3.0, 5.0)},
}

TRIALS = {family: list(arms) for family, arms in FAMILIES.items()}

experiment(
    name="si-critics-accelerators",
    paper="structural-inference",
    title="Accelerators on equal terms",
    question="Is the KL prior faster than the accelerators that need no knowledge of the structure?",
    base=PAPER,
    arms={arm: settings for family in FAMILIES.values() for arm, settings in family.items()},
    priced=True,
    quick=QUICK,
    quick_seeds=2,
    quick_arms=kept(list(arms)[len(arms) // 2] for arms in FAMILIES.values()),
    claims=[
        Claim(
            name="fastest",
            statement="The KL prior ends the wait in fewer epochs than the known accelerators.",
            rule="Each accelerator's best trial (earliest median) against the prior's best: log-rank p < 0.05 after Holm's "
            "correction and the prior's median earlier; holds if so for all.",
            judge=fastest_family("KL prior", TRIALS, EPOCHS, also=SECONDS),
        ),
        Claim(
            name="fastest-in-seconds",
            statement="The KL prior ends the wait in fewer seconds than the known accelerators.",
            rule="The same in seconds: epochs to grokking times the seconds that a step takes when one run of the arm has the "
            "device to itself; holds if the prior is sooner than each accelerator's best trial.",
            judge=fastest_family("KL prior", TRIALS, SECONDS, also=EPOCHS),
        ),
    ],
    pictures={"times": "times"},
)
