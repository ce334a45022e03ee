"""Read-outs: the theory's minimal one and the usual residual block, softmax and linear ReLU attention."""

from __future__ import annotations

from ...experiments.base import Claim, crossed, experiment, kept
from ...experiments.rules import InEach, Sooner
from .common import DIFFERS, PAPER, PRIOR, QUICK

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
    differs=DIFFERS + " The paper's theory has the minimal read-out and linear attention, its experiments softmax.",
    arms=crossed(MODELS, PRIOR),
    seeds=20,
    quick=QUICK,
    quick_arms=kept(crossed(kept(("residual, softmax", "minimal, softmax")), PRIOR)),
    claims=[
        Claim(
            name="helps",
            statement="The KL prior accelerates grokking, with softmax and with linear ReLU attention.",
            text="For each model: runs with the prior reach 99 % sooner (paired permutation test).",
            rule=InEach({model: Sooner(f"{model}, oracle", f"{model}, no prior") for model in MODELS}),
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)
