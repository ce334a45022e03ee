"""What the inductive-bias experiments share: the authors' set-up, and ours, in which the answer is hidden among distractors.

Of the paper only the abstract is at hand; the authors' set-up is that of their code (github.com/jaisidhsingh/layernorm-grok).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...config import Log, RunConfig, Stop
from ...experiments.base import Arms
from ...models.parts.mlp.relu import ReLU
from ...models.transformer import Transformer
from ...optim.adamw import AdamW
from ...priors.kl import KL
from ...tasks.modular import Modular
from ..structural_inference.common import PAPER, QUICK

SEEDS = 20
"""Seeds of every arm: arms are compared seed by seed."""

HARD = replace(PAPER, log=Log(keep=500))
"""Sixteen distractor symbols; checkpoints dense enough for one between memorising and grokking in a run that does not wait long."""

EASY = replace(PAPER, task=Modular(alphabet=4), epochs=10_000, log=Log(keep=400), stop=Stop(window=1000))
"""Four distractor symbols: runs grok without help, and go on for a thousand epochs so that checkpoints show what comes after."""

AUTHORS = RunConfig(
    task=Modular(distractors=0),
    model=Transformer(d=128, d_mlp=512, heads=4, mlp=ReLU(bias=True)),
    optim=AdamW(beta2=0.98, warmup=0.0, clip=0.0),
    prior=KL(beta=0.0),
    precision="tf32",
    epochs=12_000,
    log=Log(keep=1000),
)
"""The tokens a, b and =; p = 113, 30 % for training, full batch, AdamW with lr 1e-3, wd 1 and (0.9, 0.98), no warm-up."""

DIFFERS = (
    "horizon and seeds (theirs: 10,000 epochs, five seeds); initial weights, Gaussian with standard deviation 1/√d_in "
    "(theirs: truncated, 1/√(2d) in attention, 0.02 for positions); ε of the norm 1e-5 (0); 113 classes (114); softmax in "
    "float32 (float64); products in TF32"
)
"""What is not the authors' in the experiments with their settings."""

AMONG_DISTRACTORS = (
    "the whole set-up: network and optimizer are those of structural inference's Table G.2, and the operands stand among two "
    "distractors (theirs: no distractors, d = 128, four heads, MLP of 512 with biases, β₂ = 0.98, no warm-up, no clipping)"
)
"""What is not the authors' in the others."""

PLACES = {
    "attention input": "attention",
    "MLP input": "mlp",
    "both inputs": "both",
    "query/key path": "query-key",
    "value path": "value",
}
"""What the placements are called, and the setting of each."""

PLACEMENTS: Arms = {"none": {"model.norm": "none"}} | {name: {"model.norm": norm} for name, norm in PLACES.items()}
"""LayerNorm nowhere, and in each place."""


def with_norm(place: str, kind: str = "layer", **more: Any) -> dict[str, Any]:
    """A norm with gain and, if it has one, bias in one of PLACES, as the authors have it; `more` with __ for dots."""
    own = {"model.norm": PLACES[place], "model.norm_kind.kind": kind, "model.norm_kind.affine": True}
    return own | {name.replace("__", "."): value for name, value in more.items()}


def quick(epochs: int) -> dict[str, Any]:
    """The quick size, with a checkpoint every fifty epochs."""
    return {**QUICK, "epochs": epochs, "log.keep": 50, "stop.window": 100}


def small(arms: Arms, epochs: int = 1500) -> Arms:
    """What the quick size changes in the arms' own settings: epochs, checkpoints, and ten times the learning rate."""
    faster = {arm: {"optim.lr": 10 * own["optim.lr"]} if "optim.lr" in own else {} for arm, own in arms.items()}
    return {arm: {"epochs": epochs, "log.keep": 50, **own} for arm, own in faster.items()}
