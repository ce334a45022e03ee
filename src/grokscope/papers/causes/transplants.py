"""Transplants between a grokked run and its memorising twin, both ways.

The grokked twin has the same seed and the oracle prior, so that there is one at every setting of the dial; it is taken when it
has just generalised. The memorising twin is the run without a prior, on its plateau. Every branch trains on without a prior.
W_Q, W_K and W_V read the embedding: attention is transplanted with and without it, the MLP with and without the unembedding.
"""

from __future__ import annotations

from typing import Any

from ...experiments.base import Arms, Claim, experiment
from ...experiments.rules import InEach, Sooner, in_regimes
from .common import AFTER_99, AT, BASE, COLLECTED, DIAL, DIFFERS, QUICK, branches, on_dial, quick_arms

GROKKED: Arms = {"grokked": {"prior.beta": 0.3}}


def given(*parts: str) -> dict[str, Any]:
    """A memorising run with parts of the grokked one."""
    return {"do.kind": "transplant", "do.run": "@grokked", "do.parts": list(parts)}


def deprived(*parts: str) -> dict[str, Any]:
    """A grokked run with parts of the memorising one."""
    return {
        "branch.run": "@grokked",
        "branch.epoch": "last",
        "prior.beta": 0.0,
        "do.kind": "transplant",
        "do.run": "@parent",
        "do.epoch": AT,
        "do.parts": list(parts),
    }


FORWARD: Arms = {
    "given attention": given("attention"),
    "given attention and embedding": given("attention", "embed"),
    "given MLP": given("mlp"),
    "given MLP and unembedding": given("mlp", "readout"),
}
BACKWARD: Arms = {
    "deprived of attention": deprived("attention"),
    "deprived of attention and embedding": deprived("attention", "embed"),
    "deprived of MLP": deprived("mlp"),
    "deprived of MLP and unembedding": deprived("mlp", "readout"),
}
ARMS: Arms = GROKKED | branches(FORWARD) | BACKWARD

experiment(
    name="causes-transplants",
    paper="causes",
    title="Transplants",
    question="Which part of a grokked network does a memorising one lack?",
    base=BASE,
    differs=DIFFERS,
    arms=on_dial(ARMS),
    seeds=20,
    parts=list(DIAL),
    quick=QUICK,
    quick_arms=quick_arms(ARMS),
    collected=COLLECTED,
    claims=[
        Claim(
            name="attention",
            statement="A memorising run lacks the attention of a grokked one: given it, it generalises sooner.",
            text="For each kind of distractors, with and without the embedding: branches with the transplant reach 99 % sooner "
            "after the branch than branches left as they were (paired permutation tests).",
            rule=in_regimes(
                InEach({arm: Sooner(arm, "as it was", AFTER_99) for arm in FORWARD if "attention" in arm}), DIAL
            ),
        ),
        Claim(
            name="mlp",
            statement="A memorising run lacks the MLP of a grokked one: given it, it generalises sooner.",
            text="For each kind of distractors, with and without the unembedding: branches with the transplant reach 99 % sooner "
            "after the branch than branches left as they were (paired permutation tests).",
            rule=in_regimes(InEach({arm: Sooner(arm, "as it was", AFTER_99) for arm in FORWARD if "MLP" in arm}), DIAL),
            of="critic",
        ),
        Claim(
            name="loss",
            statement="A grokked run recovers sooner from the loss of its MLP than from the loss of its attention.",
            text="For each kind of distractors, with embedding and unembedding: branches of the grokked run with the MLP of its "
            "memorising twin are back at 99 % sooner than those with its attention (paired permutation test).",
            rule=in_regimes(
                Sooner("deprived of MLP and unembedding", "deprived of attention and embedding", AFTER_99), DIAL
            ),
            of="ours",
        ),
    ],
    pictures={"accuracy": "accuracy", "after": "causes-after"},
)
