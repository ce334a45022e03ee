"""Arms on a page: their statistics in words, a table where they are many, and which of them the pictures show."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from ..analysis import compare, log_rank_of_arms, unfinished
from .page import Section

DRAWN = 9
"""Arms that the pictures show unless more are asked for; up to as many, the verdict speaks of each and compares each two."""
LISTED = 100
"""Most arms in the table of arms."""


def statistics(table: pd.DataFrame, summary: pd.DataFrame) -> list[str]:
    """Per arm: median grokking time with its range, and how many runs grokked; between arms: log-rank.

    table     one row per run
    summary   one row per arm, as `summarise` gives it
    """
    if len(summary) > DRAWN:
        return _overview(table, summary)
    lines = []
    for arm, row in summary.iterrows():
        # a median exists once half of the runs have grokked
        middle = "no median" if pd.isna(row["median"]) else f"median {row['median']:,.0f} epochs"
        spread = "" if pd.isna(row["fastest"]) else f" ({row['fastest']:,.0f} to {row['slowest']:,.0f})"
        waiting = table.loc[(table["arm"] == arm) & table["t_grok"].isna(), "status"]
        lines.append(f"{arm}: {middle}{spread}, {_share(row)} runs grokked{unfinished(waiting)}.")
    if len(summary) > 1:
        for pair in compare(table, "arm").pairs.itertuples():
            lines.append(
                f"{pair.arm} against {pair.other}: log-rank {_p(pair.p)}, {pair.p_holm:.3g} after Holm's correction."
            )
    return lines


def _p(value: float) -> str:
    """A p-value; one that is 0 in floating point is below the smallest number."""
    return f"p = {value:.3g}" if value > 0 else "p < 1e-300"


def _overview(table: pd.DataFrame, summary: pd.DataFrame) -> list[str]:
    """The same where arms are too many to speak of each."""
    medians = summary["median"].dropna().sort_values(kind="stable")
    grokked = int((summary["runs"] - summary["censored"]).sum())
    lines = [
        f"{len(table):,} runs in {len(summary):,} arms: {grokked:,} grokked"
        f"{unfinished(table.loc[table['t_grok'].isna(), 'status'])}."
    ]
    if len(medians):
        lines.append(
            f"In {len(medians):,} of {len(summary):,} arms half of the runs or more grokked. By the median, soonest: "
            f"{medians.index[0]} ({medians.iloc[0]:,.0f} epochs); latest: {medians.index[-1]} ({medians.iloc[-1]:,.0f} epochs)."
        )
    test = log_rank_of_arms(table, "arm")
    lines.append(
        f"Log-rank test between all arms: χ² = {test.chi2:,.4g} with {test.freedom} degrees of freedom, {_p(test.p)}. "
        f"Arms are compared with each other, two at a time, where there are at most {DRAWN}; --where selects runs."
    )
    return lines


def table_of_arms(table: pd.DataFrame, summary: pd.DataFrame) -> Section:
    """One row per arm, those that grok soonest first."""
    order = summary.sort_values("median", kind="stable", na_position="last")
    by_arm = dict(iter(table.groupby("arm", sort=False)))
    rows = []
    for arm, row in order.head(LISTED).iterrows():
        median = "–" if pd.isna(row["median"]) else f"{row['median']:,.0f}"
        spread = "–" if pd.isna(row["fastest"]) else f"{row['fastest']:,.0f} to {row['slowest']:,.0f}"
        waiting = by_arm[arm].loc[by_arm[arm]["t_grok"].isna(), "status"]
        rows.append((str(arm), median, spread, _share(row) + unfinished(waiting)))
    text = "Grokking times in epochs, by arm; the median counts the runs that have not grokked (Kaplan–Meier)."
    if len(order) > LISTED:
        text += (
            f" The first {LISTED} of {len(order):,} arms; grokscope runs --json lists every run, and --where selects "
            "those on this page."
        )
    return Section(
        name="arms", title="Arms", text=(text,), header=("arm", "median", "range", "grokked"), rows=tuple(rows)
    )


def _share(row: pd.Series) -> str:
    return f"{int(row['runs'] - row['censored'])} of {int(row['runs'])}"


def drawn_arms(summary: pd.DataFrame, most: int) -> list[str]:
    """At most so many arms: all in their order, or, if there are more, some from the soonest to grok to the latest."""
    arms = list(map(str, summary.index))
    if len(arms) <= most:
        return arms
    # Arms without a median stand last, by how many of their runs grokked.
    ranking = np.lexsort((summary["censored"] / summary["runs"], summary["median"].fillna(np.inf)))
    places = np.unique(np.round(np.linspace(0, len(arms) - 1, most)).astype(int))
    return [arms[place] for place in ranking[places]]


def left_out(drawn: Iterable[str], summary: pd.DataFrame) -> str:
    """What the pictures do not show, and how to see it; empty if they show every arm."""
    shown = len(list(drawn))
    if shown == len(summary):
        return ""
    return (
        f"The pictures show {shown} of {len(summary):,} arms, spread evenly from those that grok soonest to those that grok "
        "latest or not at all. --arms shows more of them, --where selects runs."
    )
