"""Read-out scale as a control for lazy training, with the authors' settings: 0.5 to 1.5, with and without the rate η/α²."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.rules import Alike, InEach, NoLater, Sooner
from .common import AUTHORS, DIFFERS, SEEDS, quick, small
from .placement_authors import NONE

LR = AUTHORS.optim.lr
ALPHAS = (0.5, 0.75, 1.25, 1.5)


def scaled(alpha: float, *, rate: bool = False, decay: bool = False) -> dict[str, float]:
    """Logits times alpha; with `rate` at the rate η/α², with `decay` also at the decay wd·α², which keeps η·wd."""
    more = {"optim.lr": LR / alpha**2} if rate else {}
    return {"model.readout_scale": alpha} | more | ({"optim.weight_decay": alpha**2} if decay else {})


FIXED: Arms = {"α = 1": NONE} | {f"α = {alpha:g}": scaled(alpha) for alpha in ALPHAS}
RATE: Arms = {f"α = {alpha:g}, η/α²": scaled(alpha, rate=True) for alpha in ALPHAS}
RATE["α = 0.5, η/α²"]["log.keep"] = 250
DECAY: Arms = {f"α = {alpha:g}, η/α², wd·α²": scaled(alpha, rate=True, decay=True) for alpha in (0.5, 1.5)}
ALONE: Arms = {"η/0.5² alone": {"optim.lr": LR / 0.5**2}}
ARMS = FIXED | RATE | DECAY | ALONE

experiment(
    name="ib-scale-authors",
    paper="inductive-bias",
    title="Read-out scale and learning rate (authors' settings)",
    question="Is read-out scale as a control for lazy training confounded by learning rate and weight decay?",
    settings="authors'",
    differs=DIFFERS,
    base=AUTHORS,
    arms=ARMS,
    seeds=SEEDS,
    quick=quick(1500),
    quick_seeds=2,
    quick_arms=small({arm: own for arm, own in ARMS.items() if "0.75" not in arm and "1.25" not in arm}),
    claims=[
        Claim(
            name="confounded",
            statement="Read-out scale as a control for lazy training is confounded by the learning rate: at the rate "
            "η/α² a larger scale delays grokking, at a fixed rate it hastens it.",
            rule=InEach(
                {
                    "at η/α² the smaller scale is sooner": Sooner("α = 0.5, η/α²", "α = 1.5, η/α²"),
                    "at η the larger scale is sooner": Sooner("α = 1.5", "α = 0.5"),
                }
            ),
            text="α = 0.5 against α = 1.5, paired by seed, at either rate; agrees where both directions are as stated.",
            reported="test loss vanishes at about 2,000 (α = 0.5) and after 10,000 (1.5) at η/α²; after 10,000 (0.5) "
            "and at 7,000 (1.5) at η",
        ),
        Claim(
            name="monotone",
            statement="At a fixed rate, each step to a larger scale makes grokking sooner.",
            rule=InEach(
                {
                    f"{high:g} against {low:g}": Sooner(f"α = {high:g}", f"α = {low:g}")
                    for low, high in ((0.5, 0.75), (0.75, 1.0), (1.0, 1.25), (1.25, 1.5))
                }
            ),
            text="Each scale against the next smaller one, paired by seed.",
        ),
        Claim(
            name="rate-alone",
            of="ours",
            statement="What looks like an effect of a small scale at the rate η/α² is that of the rate alone.",
            rule=Alike(("α = 0.5, η/α²", "η/0.5² alone"), 1.5),
            text="Four times the rate with α = 0.5 and with α = 1: time ratio within a factor of 1.5 (two one-sided "
            "tests).",
        ),
        Claim(
            name="decay",
            of="ours",
            statement="At the rate η/α² scale delays grokking through the effective weight decay η·wd: where wd·α² "
            "keeps that, it does not.",
            rule=InEach(
                {
                    "wd": Sooner("α = 0.5, η/α²", "α = 1.5, η/α²"),
                    "wd·α²": NoLater("α = 1.5, η/α², wd·α²", "α = 0.5, η/α², wd·α²"),
                }
            ),
            text="At η/α² the smaller scale is sooner; with wd·α² the larger one takes at most a quarter longer; "
            "paired by seed.",
        ),
    ],
    pictures={"times": "times"},
)
