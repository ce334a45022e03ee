"""Results of some methods beside those of others that were stored before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from ..experiments.joining import together

if TYPE_CHECKING:
    from ..store.results import Results

SECONDS = "seconds_per_epoch"


def merged(new: Results, stored: Results | None, notify: Callable[[str], None]) -> Results:
    """The new results, with the stored runs of arms that were not run now. Seconds are left out where they do not compare: those
    of two devices, or of only some of the arms."""
    if stored is None:
        return new
    others = stored.runs[~stored.runs["arm"].isin(set(new.runs["arm"]))]
    if others.empty:
        return new
    runs = together([others, new.runs])
    if stored.about.get("device") != new.about.get("device"):
        notify(
            f"seconds are left out: stored runs are of {stored.about.get('device')}, new ones of {new.about.get('device')}"
        )
        runs = runs.drop(columns=SECONDS, errors="ignore")
    elif (SECONDS in new.runs) != (SECONDS in stored.runs):
        notify("seconds are left out: only some of the methods were timed")
        runs = runs.drop(columns=SECONDS)
    curves = pd.concat([stored.curves[stored.curves["run"].isin(set(others["run"]))], new.curves], ignore_index=True)
    own = runs.drop_duplicates("run")
    totals = {
        "runs": len(own),
        "run_steps": int(own["steps"].sum()),
        "seconds": round(float(own["step_seconds"].sum()), 1),
    }
    return new._replace(about={**new.about, **totals}, runs=runs, curves=curves)
