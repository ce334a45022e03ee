"""Figure 11: attention frozen at the oracle; batch size and Adam's momentum as perturbations of the plateau; in each regime."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.regimes import REGIMES, by_regime, quick_regime
from ...experiments.rules import InEach, Sooner, WithinRange, in_regimes
from .common import DIFFERS, PAPER, QUICK

PERTURBED: Arms = {
    "full batch": {},
    "batch 512": {"batch_size": 512, "epochs": 4000},
    "batch 1024": {"batch_size": 1024, "epochs": 6000},
    "momentum 0": {"optim.beta1": 0.0},
    "momentum 0.98": {"optim.beta1": 0.98},
}
"""4,000 epochs in batches of 512 are 28,000 steps, 6,000 in batches of 1,024 are 18,000."""
ARMS = PERTURBED | {"frozen oracle": {"constraint.attention": "oracle"}}

experiment(
    name="si-fig11",
    paper="structural-inference",
    title="Frozen structure, perturbed optimizer",
    question="Does given structure suffice, and does the norm decay survive other batches and momenta?",
    base=PAPER,
    differs=DIFFERS + " Batch sizes and momenta are ours; batches of 512 train for 4,000 epochs, of 1,024 for 6,000.",
    arms=by_regime(ARMS),
    seeds=20,
    parts=list(REGIMES),
    quick=QUICK,
    quick_arms=quick_regime([arm for arm in ARMS if arm != "batch 1024"], {"batch 512": {"epochs": 2000}}),
    claims=[
        Claim(
            name="frozen",
            statement="With oracle attention frozen, the remaining MLP generalises quickly.",
            text="In each regime: runs with frozen oracle attention reach 99 % sooner than runs that learn it (paired "
            "permutation test).",
            rule=in_regimes(Sooner("frozen oracle", "full batch")),
        ),
        Claim(
            name="norm-decay",
            statement="Batch size and momentum change rates and floors, but preserve the decay of the MLP norm.",
            text="In each regime and arm, over the runs that grok after memorising: the mean of the log ratio of the MLP norm at "
            "t_grok to that at t_mem lies below 0.",
            rule=in_regimes(
                InEach({arm: WithinRange("log change of the MLP norm", arm, -5.0, 0.0) for arm in PERTURBED})
            ),
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times", "norm": "mlp-norm"},
)
