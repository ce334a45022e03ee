"""Figure 2c: other modular operations. The MLP of Eq. 1 adds embeddings, so it can learn those that do not depend on the order."""

from __future__ import annotations

from ...experiments.base import Arms, Claim, experiment
from ...experiments.rules import sooner_in_each
from .common import GENERALISED, MLP, PAPER, QUICK, last_only, ticket

OPERATIONS = {"sum": "+", "product": "*", "squares": "x2+y2", "squares and product": "x2+xy+y2"}
"""a + b, ab, a² + b² and a² + ab + b²."""
ARMS: Arms = {}
for _name, _op in OPERATIONS.items():
    ARMS[f"{_name}, dense"] = {"task.op": _op}
    ARMS[f"{_name}, ticket"] = {"task.op": _op, **ticket(run=f"@{_name}, dense")}

experiment(
    name="gt-fig2c",
    also=("gt-fig2",),
    paper=PAPER,
    title="Other modular operations",
    question="Do tickets end the delay for other operations too?",
    base=MLP,
    arms=last_only(ARMS),
    parts=list(OPERATIONS),
    quick=QUICK,
    quick_arms={arm: {} for arm in ARMS if arm.startswith(("product", "squares,"))},
    quick_seeds=2,
    claims=[
        Claim(
            name="sooner",
            statement="A grokking ticket generalises sooner than the dense network, whatever the operation.",
            rule="For each operation: t_gen earlier, log-rank p < 0.05 after Holm's correction.",
            judge=sooner_in_each({name: (f"{name}, ticket", f"{name}, dense") for name in OPERATIONS}, GENERALISED),
        ),
    ],
    pictures={"accuracy": "train-test"},
)
