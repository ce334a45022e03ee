"""Where each head looks: the attention of the query on every position."""

from __future__ import annotations

import pandas as pd

from ..errors import StoreError
from .base import StoredRun, probes
from .checkpoints import at_least
from .examples import some


@probes.register("attention-map")
def attention_map(run: StoredRun) -> pd.DataFrame:
    """Attention of the query in the last layer, by head and position, mean over test examples, at every checkpoint.

    Columns: epoch, head, position, mass.
    """
    if not run.config.model.has_attention:
        raise StoreError(f"run {run.id}: model {run.config.model.kind} has no attention")
    examples = some(run.split.test)
    rows = []
    for epoch in at_least(run, 1):
        attention = run.network(epoch)(examples).attention
        assert attention is not None
        for head, masses in enumerate(attention.float().mean(0).tolist()):
            rows += [{"epoch": epoch, "head": head, "position": j, "mass": mass} for j, mass in enumerate(masses)]
    return pd.DataFrame(rows)
