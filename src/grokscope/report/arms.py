"""Arms on a page: their statistics in words, a table with the settings of each, and which of them the pictures show.

Arms are compared with one reference arm, and over each numeric setting by a test for trend: both stay readable however many arms
there are, unlike a comparison of each two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ..analysis import compare_with, holm, trend_over, unfinished
from ..conditions import Arms, short_keys, shown_value
from ..errors import ConfigError, nearest
from .page import Section

DRAWN = 6
"""Arms that the pictures show unless more are asked for; up to as many, the verdict speaks of each."""
LISTED = 100
"""Most arms in the table of arms."""
NAMED = 4
"""Most arms that a sentence names."""
ALPHA = 0.05


@dataclass(frozen=True, kw_only=True)
class ArmTable:
    """What is known of the arms of a page."""

    runs: pd.DataFrame
    """One row per run, with its arm, times, and the settings in which runs differ."""
    summary: pd.DataFrame
    """One row per arm, as `summarise` gives it."""
    arms: Arms
    settings: Sequence[str] = ()
    """Columns of `runs` that are settings: those that distinguish arms, and those that differ within arms."""
    reference: str = ""
    """The arm that the others are compared with."""

    @cached_property
    def tests(self) -> pd.DataFrame:
        """Each arm against the reference, as `compare_with` gives it."""
        return compare_with(self.runs, "arm", self.reference)

    @property
    def compared(self) -> bool:
        """Whether there is anything to compare."""
        return len(self.summary) > 1 and bool(self.runs["t_grok"].notna().any())


def reference_arm(arms: Arms, defaults: Mapping[str, Any], wanted: str = "") -> str:
    """The arm that is compared with: the one asked for, or the one with most settings at their default, "no prior" among them."""
    if wanted and wanted not in arms.settings:
        raise ConfigError("--reference", f"no arm is called {wanted!r}. {nearest(wanted, arms.settings)}")
    if wanted:
        return wanted
    usual = {
        name: sum(str(value) == str(defaults.get(key)) for key, value in own.items())
        for name, own in arms.settings.items()
    }
    return max(usual, key=usual.__getitem__)


def statistics(table: ArmTable) -> list[str]:
    """Per arm the median grokking time with its range and how many runs grokked; then the comparison with the reference arm, and
    the trend over every numeric setting."""
    lines = _each(table) if len(table.summary) <= DRAWN else _overview(table)
    return [*lines, *_against_reference(table), *_trends(table)]


def _each(table: ArmTable) -> list[str]:
    lines = []
    for arm, row in table.summary.iterrows():
        # a median exists once half of the runs have grokked
        middle = "no median" if pd.isna(row["median"]) else f"median {row['median']:,.0f} epochs"
        spread = "" if pd.isna(row["fastest"]) else f" ({row['fastest']:,.0f} to {row['slowest']:,.0f})"
        lines.append(f"{arm}: {middle}{spread}, {_share(row)} runs grokked{_waiting(table.runs, str(arm))}.")
    return lines


def _overview(table: ArmTable) -> list[str]:
    """The same where arms are too many to speak of each."""
    runs, summary = table.runs, table.summary
    medians = summary["median"].dropna().sort_values(kind="stable")
    grokked = int((summary["runs"] - summary["censored"]).sum())
    ended = unfinished(runs.loc[runs["t_grok"].isna(), "status"])
    lines = [f"{len(runs):,} runs in {len(summary):,} arms: {grokked:,} grokked{ended}."]
    if len(medians):
        lines.append(
            f"In {len(medians):,} of {len(summary):,} arms half of the runs or more grokked. By the median, soonest: "
            f"{medians.index[0]} ({medians.iloc[0]:,.0f} epochs); latest: {medians.index[-1]} ({medians.iloc[-1]:,.0f} epochs)."
        )
    return lines


def _against_reference(table: ArmTable) -> list[str]:
    if not table.compared:
        return []
    found = table.tests
    decided = found[found["p_holm"] < ALPHA]
    sooner, later = (list(decided.loc[decided["z"] * sign > 0, "arm"]) for sign in (1, -1))
    parts = [f"{word} in {_names(arms)}" for word, arms in (("sooner", sooner), ("later", later)) if arms]
    rest = len(found) - len(decided)
    if rest:
        others = "the other arm" if rest == 1 else f"the other {rest} arms"
        parts.append(f"no difference shown in {others if parts else ('any arm' if rest > 1 else found['arm'].iloc[0])}")
    correction = f", 5 % after Holm's correction over {len(found)} arms" if len(found) > 1 else ""
    smallest = f", {_p(float(found['p'].iloc[0]))}" if len(found) == 1 else ""
    few = " So few runs cannot show a difference, however large it is." if _too_few(found) else ""
    return [f"Grokking, against {table.reference}: {'; '.join(parts)} ({_kind(found)}{correction}{smallest}).{few}"]


def _too_few(found: pd.DataFrame) -> bool:
    """Whether no p that these runs can give would be below 5 % after Holm's correction."""
    return bool((found["least"] * len(found) >= ALPHA).all())


def _kind(found: pd.DataFrame) -> str:
    if found["paired"].all():
        return "permutation tests, paired by seed"
    return "permutation tests, paired where arms share their seeds" if found["paired"].any() else "permutation tests"


def _trends(table: ArmTable) -> list[str]:
    """One sentence per numeric setting with three values or more, within equal values of the other settings."""
    if not table.compared:
        return []
    numeric = [name for name in table.settings if _is_ordered(table.runs[name])]
    asked = [name for name in numeric if name not in table.arms.pooled]
    if not asked:
        return []
    tests = [trend_over(table.runs, name, [other for other in table.settings if other != name]) for name in asked]
    keys = short_keys(table.settings)
    lines = []
    for name, test, p in zip(asked, tests, holm([test.p for test in tests]), strict=True):
        values = table.runs[name].nunique()
        equal = [keys[other] for other in table.settings if other != name] + ["seed"] * test.paired
        given = f", at equal {', '.join(equal)}" if equal else ""
        direction = f"comes {'sooner' if test.z > 0 else 'later'} as {keys[name]} grows" if p < ALPHA else ""
        said = f"Grokking {direction}" if direction else f"No trend over {keys[name]} is shown"
        corrected = " after Holm's correction" if len(asked) > 1 else ""
        lines.append(
            f"{said} (permutation test for trend over {values} values{given}: z = {test.z:.2f}, {_p(p)}{corrected})."
        )
    return lines


def _is_ordered(column: pd.Series) -> bool:
    """Whether a setting has three or more values, all of them numbers."""
    known = column.dropna()
    is_number = known.map(lambda value: isinstance(value, (int, float)) and not isinstance(value, bool))
    return bool(len(known) and is_number.all() and known.nunique() > 2)


def _p(value: float) -> str:
    """A p-value; one that is 0 in floating point is below the smallest number."""
    return f"p = {value:.3g}" if value > 0 else "p < 1e-300"


def _names(arms: Sequence[str]) -> str:
    return ", ".join(arms) if len(arms) <= NAMED else f"{', '.join(arms[:NAMED])} and {len(arms) - NAMED} more arms"


def table_of_arms(table: ArmTable) -> Section:
    """One row per arm in their order: its settings, times, and the test against the reference."""
    columns = table.arms.columns
    keys = short_keys(columns)
    tests = table.tests.set_index("arm") if table.compared else None
    rows = []
    for arm, row in table.summary.head(LISTED).iterrows():
        settings = [shown_value(table.arms.settings.get(str(arm), {}).get(name)) for name in columns]
        median = "–" if pd.isna(row["median"]) else f"{row['median']:,.0f}"
        spread = "–" if pd.isna(row["fastest"]) else f"{row['fastest']:,.0f} to {row['slowest']:,.0f}"
        p = [] if tests is None else ["reference" if arm == table.reference else f"{tests['p_holm'][arm]:.3g}"]
        rows.append((str(arm), *settings, median, spread, _share(row) + _waiting(table.runs, str(arm)), *p))
    text = "Grokking times in epochs; the median counts the runs that have not grokked (Kaplan–Meier)."
    if tests is not None:
        text += f" p: against {table.reference}, {_kind(table.tests)}, after Holm's correction."
    if len(table.summary) > LISTED:
        text += (
            f" The first {LISTED} of {len(table.summary):,} arms; grokscope runs --csv lists every run, and --where selects "
            "those on this page."
        )
    header = (
        "arm",
        *(keys[name] for name in columns),
        "median",
        "range",
        "grokked",
        *(["p"] if tests is not None else []),
    )
    return Section(name="arms", title="Arms", text=(text,), header=header, rows=tuple(rows))


def _waiting(runs: pd.DataFrame, arm: str) -> str:
    return unfinished(runs.loc[(runs["arm"] == arm) & runs["t_grok"].isna(), "status"])


def _share(row: pd.Series) -> str:
    return f"{int(row['runs'] - row['censored'])} of {int(row['runs'])}"


def drawn_arms(summary: pd.DataFrame, most: int, reference: str = "") -> list[str]:
    """At most so many arms, in their order: all, or, if there are more, some from the soonest to grok to the latest, the reference
    among them."""
    arms = list(map(str, summary.index))
    if len(arms) <= most:
        return arms
    # Arms without a median stand last, by how many of their runs grokked.
    ranking = np.lexsort((summary["censored"] / summary["runs"], summary["median"].fillna(np.inf)))
    others = [arms[place] for place in ranking if arms[place] != reference]
    wanted = most - (reference in arms)
    places = np.unique(np.round(np.linspace(0, len(others) - 1, wanted)).astype(int))
    drawn = {others[place] for place in places} | ({reference} if reference in arms else set())
    return [arm for arm in arms if arm in drawn]


def left_out(drawn: Iterable[str], summary: pd.DataFrame) -> str:
    """What the pictures do not show, and how to see it; empty if they show every arm."""
    shown = len(list(drawn))
    if shown == len(summary):
        return ""
    return (
        f"The pictures show {shown} of {len(summary):,} arms, spread evenly from those that grok soonest to those that grok "
        "latest or not at all. --arms shows more of them, --where selects runs, --by SETTING joins arms."
    )
