"""Why the position of LayerNorm matters, with the authors' settings: memorisation by norms, and the entropy of attention."""

from __future__ import annotations

from ...experiments.base import Claim, experiment
from ...experiments.clocks import FIRST_99
from ...experiments.rules import Correlated, Greater, InEach, Less, WithinRange
from .common import AUTHORS, DIFFERS, SEEDS, quick, small
from .placement_authors import LAYER

CHECKPOINTS = "checkpoints with training accuracy of 95 % or more and test accuracy below 50 %"

experiment(
    name="ib-shortcut-authors",
    paper="inductive-bias",
    title="Shortcuts and attention entropy (authors' settings)",
    question="Is the effect of LayerNorm explained by memorisation through the norm of the MLP input, and by "
    "attention entropy?",
    settings="authors'",
    differs=DIFFERS
    + "; entropy is that of the query's attention, mean over heads (theirs: of all positions, heads averaged first)",
    base=AUTHORS,
    arms=LAYER,
    seeds=SEEDS,
    quick=quick(1500),
    quick_seeds=2,
    quick_arms=small(LAYER),
    claims=[
        Claim(
            name="leans",
            statement="Without LayerNorm a network memorises through the norm of the MLP input.",
            rule=InEach(
                {
                    "norm 1": WithinRange("unit_norm_lost", "none", 0.05, 1.0),
                    "equal norms": WithinRange("equal_norm_lost", "none", 0.05, 1.0),
                }
            ),
            text="Training accuracy that is lost when every MLP input has norm 1 (the authors' test), or the mean "
            f"norm: the mean over {CHECKPOINTS} is at least 5 percentage points.",
            reported="training loss with norm 1 rises to 3 … 6",
        ),
        Claim(
            name="removes",
            statement="LayerNorm at the MLP input takes the shortcut through the norm away.",
            rule=InEach(
                {
                    "loss at norm 1": Less("unit_norm_loss", "MLP input", "none"),
                    "accuracy at equal norms": Less("equal_norm_lost", "MLP input", "none"),
                }
            ),
            text="With it less training loss is added at norm 1 (the authors' test), and less training accuracy is "
            "lost at equal norms, than without it, paired by seed.",
            reported="training loss with norm 1 falls from 4 to 2 with LayerNorm at the MLP input, and rises from 3 "
            "to 6 without",
        ),
        Claim(
            name="later",
            statement="The more a network leans on the norm of the MLP input, the later it groks.",
            rule=InEach(
                {
                    "all positions": Correlated("equal_norm_lost", FIRST_99, 1, cluster="seed"),
                    "no LayerNorm": Correlated("equal_norm_lost", FIRST_99, 1, arms=("none",)),
                }
            ),
            text="Rank correlation of the training accuracy lost at equal norms with the first crossing of 99 %, "
            "over all runs (bootstrap over seeds) and over those without LayerNorm.",
        ),
        Claim(
            name="entropy",
            statement="LayerNorm on the query/key path keeps attention entropy low; at the MLP input and on the "
            "value path it keeps it high.",
            rule=InEach(
                {
                    "query/key path": Less("entropy_wait", "query/key path", "none"),
                    "MLP input": Greater("entropy_wait", "MLP input", "none"),
                    "value path": Greater("entropy_wait", "value path", "none"),
                }
            ),
            text="Mean entropy from memorisation until test accuracy reaches 50 %, against no LayerNorm, paired by "
            "seed.",
            reported="0.6 to 0.75 nats on the query/key path, 0.96 on the value path, 1.09 at the MLP input; 0.55 to "
            "0.97 without",
        ),
        Claim(
            name="entropy-sooner",
            statement="The higher the entropy of attention, the sooner a network groks.",
            rule=InEach(
                {
                    "at memorisation": Correlated("entropy_mem", FIRST_99, -1, cluster="seed"),
                    "while it waits": Correlated("entropy_wait", FIRST_99, -1, cluster="seed"),
                }
            ),
            text="Rank correlation with the first crossing of 99 % over all runs, bootstrap over seeds.",
        ),
    ],
    curves=("entropy",),
    pictures={"input-norm": "ib-input-norm"},
    probes=("input-norm",),
)
