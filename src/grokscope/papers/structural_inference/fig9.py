"""Figure 9: the width of the model, and four heads that share the work."""

from __future__ import annotations

from ...experiments.base import Claim, experiment, kept
from ...experiments.rules import falls_with, groks
from .common import PAPER, QUICK

WIDTHS = {f"d = {d}": {"model.d": d, "model.d_mlp": 4 * d} for d in (16, 32, 64, 128, 256)}

experiment(
    name="si-fig9",
    paper="structural-inference",
    title="Width and heads",
    question="Do wider models find the structure sooner, and do four heads satisfy the condition together?",
    base=PAPER,
    arms=WIDTHS | {"4 heads": {"model.heads": 4}, "4 heads, oracle": {"model.heads": 4, "prior.beta": 0.3}},
    quick=QUICK,
    quick_seeds=2,
    quick_arms=kept(("d = 16", "d = 32", "d = 64", "4 heads", "4 heads, oracle")),
    claims=[
        Claim(
            name="width",
            statement="Larger d learns the structure sooner.",
            rule="Holds if t_grok falls with d over the widths (Spearman p < 0.05; runs that never grokked come last).",
            judge=falls_with("model.d", list(WIDTHS), "d"),
        ),
        Claim(
            name="heads",
            statement="Four heads generalise, satisfying the structural condition through their summed attention.",
            rule="Holds with or without the prior if at least 80 % of those runs with four heads grok.",
            judge=groks(["4 heads", "4 heads, oracle"], 0.8),
        ),
    ],
    pictures={"accuracy": "accuracy", "times": "times"},
)
