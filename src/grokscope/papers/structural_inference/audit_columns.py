"""Columns from the audit of runs: 1 where a statement holds, 0 where it is violated, missing where it does not apply or is
empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ...experiments.clocks import NotRunError
from ...experiments.columns import Compute, Explain, column, explained
from .audit.probe import TABLE

if TYPE_CHECKING:
    from ...store.results import Results

STATEMENTS = {
    "Thm 4.3": "decoupling",
    "Def. 4.1, 4.2": "conditions",
    "Cor. 4.5": "corollary",
    "Def. 3.2": "contraction",
    "Eq. 5": "plateau",
    "Eq. 52": "envelope",
    "Eq. 7, 53": "delay",
    "§5.1": "phases",
}
"""Names of the claims, by the numbers of the statements; Lemma 5.1 is in si-fig5."""


def _holds(number: str) -> Compute:
    def compute(results: Results) -> pd.Series:
        if TABLE not in results.probes:
            raise NotRunError(f"probe {TABLE}")
        table = results.probes[TABLE]
        own = table[(table["number"] == number) & (table["verdict"] != "not applicable")]
        # a statement that is violated asked for something
        own = own[~own["empty"].astype(bool) | (own["verdict"] == "violated")]
        return (own.set_index("run")["verdict"] == "holds").astype(float)

    return compute


def _why_none(number: str) -> Explain:
    def explain(results: Results, arm: str) -> str:
        """`holds emptily in 20 of 20 runs`, `does not apply to 20 of 20 runs`"""
        runs = set(results.runs.loc[results.runs["arm"] == arm, "run"])
        table = results.probes[TABLE]
        own = table[(table["number"] == number) & table["run"].isin(runs)]
        counts = {
            "holds emptily in": int(((own["verdict"] == "holds") & own["empty"].astype(bool)).sum()),
            "does not apply to": int((own["verdict"] == "not applicable").sum()),
        }
        return ", ".join(f"{words} {count} of {len(runs)} runs" for words, count in counts.items() if count)

    return explain


for statement in STATEMENTS:
    column(f"audit: {statement}")(_holds(statement))
    explained[f"audit: {statement}"] = _why_none(statement)
