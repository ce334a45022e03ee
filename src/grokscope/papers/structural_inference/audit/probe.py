"""The audit as a probe, so that an experiment can store it with its results: one row per statement of the paper."""

from __future__ import annotations

import json

import pandas as pd

from ....probes import StoredRun, probes
from ....probes.checkpoints import at_least
from .statements import audit

TABLE = "si-audit"


@probes.register(TABLE)
def audit_table(run: StoredRun) -> pd.DataFrame:
    """Every statement of structural inference, checked on a run.

    Columns: `epoch` of the newest checkpoint; `number` and `name` of the statement; `verdict` (holds, violated, not applicable);
    `empty`, whether it holds because it asks for nothing; `numbers`, as JSON, that decided it.
    """
    epoch = at_least(run, 1)[-1]
    rows = []
    for statement in audit(run.info).statements:
        plain = statement.to_dict()
        scalars = {name: value for name, value in plain["numbers"].items() if not isinstance(value, (dict, list))}
        rows.append(
            {
                "epoch": epoch,
                "number": statement.number,
                "name": statement.name,
                "verdict": statement.verdict,
                "empty": statement.empty,
                "numbers": json.dumps(scalars),
            }
        )
    return pd.DataFrame(rows)
