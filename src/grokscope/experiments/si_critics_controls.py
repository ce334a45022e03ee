"""Critics 6: perhaps any live loss term ends the plateau. Controls of matched size, wrong targets, frozen attention."""

from __future__ import annotations

from ..figures import accuracy_and_divergence, grokking_times
from .base import Claim, experiment
from .common import PAPER, QUICK
from .rules import groks, never_groks, sooner

experiment(
    name="si-critics-controls",
    paper="structural-inference",
    title="Controls",
    question="Is it the structure that helps, or would any live loss term do?",
    base=PAPER,
    arms={
        "no prior": {"prior.beta": 0.0},
        "oracle": {"prior.beta": 0.3},
        "noise of matched size": {"prior.kind": "noise", "prior.beta": 0.3},
        "random target": {"prior.beta": 0.3, "prior.target": "random"},
        "uniform target": {"prior.beta": 0.3, "prior.target": "uniform"},
        "frozen uniform": {"prior.beta": 0.0, "constraint.attention": "uniform"},
        "frozen oracle": {"prior.beta": 0.0, "constraint.attention": "oracle"},
    },
    quick=QUICK,
    claims=[
        Claim(
            name="structure",
            statement="The oracle prior helps more than a gradient of the same size without its knowledge.",
            rule="Holds if runs with the oracle prior grok sooner than runs with noise of matched size (log-rank p < 0.05).",
            judge=sooner("oracle", "noise of matched size"),
        ),
        Claim(
            name="wrong-targets",
            statement="A prior that knows nothing does not end the wait.",
            rule="Holds if no run with a random or a uniform target groks.",
            judge=never_groks(["random target", "uniform target"]),
        ),
        Claim(
            name="frozen-oracle",
            statement="Attention frozen at the oracle generalises.",
            rule="Holds if at least 80 % of its runs grok.",
            judge=groks(["frozen oracle"], 0.8),
        ),
        Claim(
            name="frozen-uniform",
            statement="Uniform attention alone is not enough on short sequences.",
            rule="Holds if no run with attention frozen at uniform weights groks.",
            judge=never_groks(["frozen uniform"]),
        ),
    ],
    pictures={"accuracy": accuracy_and_divergence, "times": grokking_times},
)
