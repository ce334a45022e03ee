"""Figure 8: routing that differs from example to example, and test sequences longer than any trained on."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, crossed, experiment, kept
from ...experiments.rules import higher, sooner
from .common import PAPER, PRIOR, QUICK

SETTINGS: Arms = {
    "random places": {"task.placement": "random"},
    "length 6": {"task.distractors": 3},
    "length 6, tested at 8": {"task.distractors": 3, "task.test_distractors": 5},
    "length 6, tested at 12": {"task.distractors": 3, "task.test_distractors": 9},
}

experiment(
    name="si-fig8",
    paper="structural-inference",
    title="Dynamic routing and length",
    question="Does the prior help where the informative places are drawn anew, and at lengths never trained on?",
    base=PAPER,
    arms=crossed(SETTINGS, PRIOR),
    quick=QUICK,
    quick_arms=kept(crossed(kept(("random places", "length 6, tested at 8")), PRIOR)),
    claims=[
        Claim(
            name="routing",
            statement="With informative positions drawn per example, a per-example oracle makes grokking come sooner.",
            rule="Holds if runs with the prior grok sooner (log-rank p < 0.05).",
            judge=sooner("random places, oracle", "random places, no prior"),
        ),
        Claim(
            name="length-8",
            statement="Trained at length 6 and tested at 8, runs with the prior keep more accuracy.",
            rule="Holds if final test accuracy is higher with the prior (Mann–Whitney p < 0.05).",
            judge=higher(
                "test_accuracy", "length 6, tested at 8, oracle", "length 6, tested at 8, no prior", "accuracy"
            ),
        ),
        Claim(
            name="length-12",
            statement="Trained at length 6 and tested at 12, runs with the prior keep more accuracy.",
            rule="Holds if final test accuracy is higher with the prior (Mann–Whitney p < 0.05).",
            judge=higher(
                "test_accuracy", "length 6, tested at 12, oracle", "length 6, tested at 12, no prior", "accuracy"
            ),
        ),
    ],
    pictures={"accuracy": "accuracy"},
)
