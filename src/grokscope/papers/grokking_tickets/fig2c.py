"""Figure 2c: other modular operations.

The MLP of Eq. 1 adds embeddings, so it does not see the order of its operands. Subtraction is learnt on the pairs with a ≥ b, as in
the authors' code, where the order makes no difference; the others commute.
"""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.clocks import FIRST_95
from ...experiments.rules import InEach, Sooner
from .common import GIVEN, LAYER_WISE, MLP, PAIRED, PAPER, QUICK, SEEDS, given, last_only, ticket

OPERATIONS: Arms = {
    "sum": {"task.op": "+"},
    "difference": {"task.op": "-", "task.pairs": "a>=b"},
    "product": {"task.op": "*"},
    "squares": {"task.op": "x2+y2"},
    "squares and product": {"task.op": "x2+xy+y2"},
}
"""a + b, a − b, ab, a² + b² and a² + ab + b²."""
ARMS: Arms = {}
for _name, _op in OPERATIONS.items():
    ARMS[f"{_name}, dense"] = _op
    ARMS[f"{_name}, ticket"] = {**_op, **ticket(run=f"@{_name}, dense")}

MORE = {"sum": GIVEN, "difference": 40, "product": 26, "squares": GIVEN}
"""Seeds of operations of which some dense networks generalise and some do not: so that about twenty are left that do."""

experiment(
    name="gt-fig2c",
    also=("gt-fig2",),
    paper=PAPER,
    title="Other modular operations",
    question="Do tickets end the delay for other operations too?",
    base=MLP,
    arms=last_only(ARMS),
    parts=list(OPERATIONS),
    seeds=SEEDS,
    seeds_of={f"{name}, {kind}": count for name, count in MORE.items() for kind in ("dense", "ticket")},
    differs=f"the paper does not name its operations; {LAYER_WISE}. More than twenty seeds where fewer than twenty of the first "
    "twenty dense networks, which were judged before, generalised",
    quick=QUICK,
    quick_arms={arm: {} for arm in ARMS if arm.startswith(("product", "squares,"))},
    quick_seeds=2,
    claims=[
        Claim(
            name="sooner",
            statement="A grokking ticket generalises sooner than the dense network, whatever the operation.",
            text=f"For each operation, t_gen of the ticket against the dense network's. {PAIRED} How many dense networks "
            "generalise at all stands beside it.",
            rule=InEach(
                {
                    name: given(Sooner(f"{name}, ticket", f"{name}, dense", FIRST_95), f"{name}, dense")
                    for name in OPERATIONS
                }
            ),
        ),
    ],
    pictures={"accuracy": "train-test"},
)
