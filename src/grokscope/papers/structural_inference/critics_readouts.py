"""Read-outs: the theory's minimal one and the usual residual block, softmax and linear ReLU attention."""

from __future__ import annotations

from ...experiments.base import Claim, crossed, experiment, kept
from ...experiments.rules import sooner_in_each
from .common import PAPER, PRIOR, QUICK

MODELS = {
    f"{readout}, {attention}": {"model.readout": readout, "model.attention": attention}
    for readout in ("residual", "minimal")
    for attention in ("softmax", "linear")
}

experiment(
    name="si-critics-readouts",
    paper="structural-inference",
    title="Read-outs and attention",
    question="Does the story depend on the read-out or on the kind of attention?",
    base=PAPER,
    arms=crossed(MODELS, PRIOR),
    quick=QUICK,
    quick_arms=kept(crossed(kept(("residual, softmax", "minimal, softmax")), PRIOR)),
    claims=[
        Claim(
            name="helps",
            statement="The KL prior makes grokking come sooner for every read-out and kind of attention.",
            rule="For each model: log-rank p < 0.05 after Holm's correction and the earlier median with the prior.",
            judge=sooner_in_each({model: (f"{model}, oracle", f"{model}, no prior") for model in MODELS}),
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)
