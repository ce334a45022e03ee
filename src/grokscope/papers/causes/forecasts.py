"""Forecasts: t_grok of unseen seeds from what is known on the plateau; runs without a prior, at several alphabets and tasks.

Out-of-fold forecasts become columns, so that the ledger judges predictors as it judges everything else. The protocol (folds,
nested cross-validation, transfer, lead time) is that of `grokscope forecast --evaluate`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from ...analysis import plateau_features
from ...experiments.base import Arms, Claim, experiment
from ...experiments.clocks import FIRST_99
from ...experiments.columns import column
from ...experiments.rules import Correlated, InEach, WithinRange
from ...forecast.data import table_at
from ...forecast.evaluate import out_of_fold
from ..structural_inference.common import PAPER, QUICK

if TYPE_CHECKING:
    from ...store.results import Results

BASE = replace(PAPER, epochs=30_000, log=replace(PAPER.log, keep=250))
DIAL: Arms = {f"q = {q}": {"task.alphabet": q} for q in (1, 4, 16, 32)}
TASKS: Arms = {
    "multiplication": {"task.op": "*"},
    "subtraction": {"task.op": "-"},
    "four heads": {"model.heads": 4},
}
JUDGED = ("divergence", "mlp-norm", "fourier", "first-passage", "combined", "without-oracle")
DIFFERS = "The paper makes no forecasts; the runs are Table G.2's without a prior, with our learning rate (1e-3)."


_made: dict[tuple[str, str], tuple[Results, pd.DataFrame]] = {}
"""The last forecasts of each kind, with the results that they are about."""
_tables: list[tuple[Results, pd.DataFrame]] = []
"""The last table that they were made from."""


def forecasts(results: Results, kind: str, split: str = "fold") -> pd.DataFrame:
    """Forecasts of every run at t_mem by a predictor that has not seen its seed (or its arm), indexed by run. The predictor is
    fitted once for all cases of a claim: fits take most of the time of the whole ledger."""
    about, made = _made.get((kind, split), (None, None))
    if made is None or about is None or not _same(about, results):
        made = out_of_fold(kind, _table(results), split).set_index("run")
        _made[kind, split] = results, made
    return made


def _table(results: Results) -> pd.DataFrame:
    """The features of all runs at t_mem, which every kind of predictor reads."""
    if not (_tables and _same(_tables[0][0], results)):
        name = results.about.get("experiment", "forecast-dial")
        _tables[:] = [(results, table_at({name: results}))]
    return _tables[0][1].copy()


def _same(one: Results, two: Results) -> bool:
    """Whether two results are made of the same tables, not of equal ones."""
    return one.runs is two.runs and one.curves is two.curves and one.probes is two.probes


def register(kind: str) -> None:
    """The columns of a predictor: its forecast of t_grok, and how far log t̂ is from log t."""

    @column(f"forecast by {kind}")
    def said(results: Results) -> pd.Series:
        return forecasts(results, kind)["middle"]

    @column(f"error of {kind}")
    def missed(results: Results) -> pd.Series:
        own = forecasts(results, kind)
        own = own[own["grokked"]]
        return (own["middle"] / own["time"] - 1).abs()


for _kind in JUDGED:
    register(_kind)


experiment(
    name="forecast-dial",
    paper="causes",
    title="Forecasts",
    question="Is it known at memorisation when a run will generalise?",
    base=BASE,
    differs=DIFFERS,
    arms=DIAL | TASKS,
    seeds=40,
    quick=QUICK | {"log.keep": 100},
    quick_arms={"q = 1": {}, "q = 16": {}},
    probes=["forecast"],
    claims=[
        Claim(
            name="predicts",
            statement="What is known at memorisation predicts the grokking time of unseen seeds.",
            text="For each alphabet and predictor: Spearman's ρ over seeds of the forecast at t_mem, by a predictor that has not "
            "seen the seed, and the time to 99 % lies above 0 (bootstrap over runs; runs that never grok come last).",
            rule=InEach(
                {
                    f"{arm}, {kind}": Correlated(f"forecast by {kind}", FIRST_99, 1, arms=[arm])
                    for arm in DIAL
                    for kind in JUDGED
                }
            ),
            of="ours",
        ),
        Claim(
            name="first-passage",
            statement="The first passage of the MLP's norm predicts the grokking time to within 17.7 % on average.",
            text="For each alphabet: the interval of the mean of |t̂ − t|/t over seeds lies below 0.177, with the norm "
            "observed at t_mem.",
            reported="17.7 % (2605.18845)",
            rule=InEach({arm: WithinRange("error of first-passage", arm, 0.0, 0.177) for arm in DIAL}),
            of="critic",
        ),
        Claim(
            name="combined",
            statement="All features together predict the grokking time of unseen seeds to within a quarter on average.",
            text="For each alphabet: the interval of the mean of |t̂ − t|/t over seeds lies below 0.25.",
            rule=InEach({arm: WithinRange("error of combined", arm, 0.0, 0.25) for arm in DIAL}),
            of="ours",
        ),
    ],
    curves=plateau_features.METRICS,
    pictures={"times": "times"},
)
