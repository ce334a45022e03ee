"""Attention entropy, and what is left of training accuracy when only a part of each sequence is its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....experiments.collect import curves_from
from ....figures import RunCurves, figures
from ....figures.curves import draw_seeds
from ....figures.data import by_arm, need
from ....figures.panels import legend, log_values, outcome, panels, subtitle
from ....figures.phases import mark_time, time_entries
from ....figures.style import MEANINGS, OTHERS, styled
from .checkpoints import checkpoint_curves, draw_checkpoints

if TYPE_CHECKING:
    import pandas as pd

    from ....store.results import Results

KEPT = {
    "operands": ("both operands, distractors resampled", OTHERS[0], "o"),
    "one operand": ("one operand and distractors", OTHERS[1], "^"),
    "distractors": ("distractors alone", OTHERS[2], "v"),
    "single operand": ("one operand alone", OTHERS[3], "x"),
}
"""What is kept of a training sequence: its label, colour and marker."""

ENTROPY = MEANINGS["attention"].look.colour


@figures.register("ib-shortcuts", takes="results", needs="shortcut", title="Attention entropy and shortcuts")
def shortcuts(results: Results, *, arms: Collection[str] | None = None) -> Figure:
    """Above, entropy of attention; below, training accuracy when only a part of each sequence is its own, on a log scale.

    arms   only these arms; by default all
    """
    runs, checkpoints = curves_from(results), checkpoint_curves(results, kept_parts(results))
    if arms is not None:
        runs, checkpoints = ([one for one in some if one.arm in arms] for some in (runs, checkpoints))
    return entropy_and_shortcuts(runs, checkpoints)


def kept_parts(results: Results) -> pd.DataFrame:
    """Training accuracy by what is kept of a sequence, one row per checkpoint; of several operands the best one."""
    table = results.probes["shortcut"]
    wide = table[table["side"] == "train"].pivot_table(index=["run", "epoch"], columns="kept", values="accuracy")
    wide["single operand"] = wide.filter(regex=r"^operand \d").max(axis=1)
    wide["one operand"] = wide.filter(regex=r"^all but operand \d").max(axis=1)
    return wide.reset_index()


@styled
def entropy_and_shortcuts(runs: Sequence[RunCurves], checkpoints: Sequence[RunCurves]) -> Figure:
    """One column per arm: entropy of attention above; below, training accuracy when only a part of the sequence is its own."""
    need(runs, "entropy")
    arms, probed = by_arm(runs), by_arm(checkpoints)
    figure, axes = panels(runs, {"entropy (nats)": 1.2, "train accuracy": 1.35})
    for arm, (name, members) in enumerate(arms.items()):
        draw_seeds(axes[0, arm], members, "entropy", ENTROPY, "entropy")
        for kept, (_, colour, mark) in KEPT.items():
            draw_checkpoints(axes[1, arm], probed.get(name, []), kept, colour, mark)
        for ax in axes[:, arm]:
            mark_time(ax, members, "t_grok")
        subtitle(axes[0, arm], outcome(members))
    axes[0, 0].set_ylim(bottom=0)
    log_values(axes[1, 0])  # what is near chance differs by factors
    axes[1, 0].set_ylim(top=1.3)
    kept_entries = [(Line2D([], [], color=c, marker=m, ms=3.5, lw=0.8), label) for label, c, m in KEPT.values()]
    entries = [
        (Line2D([], [], color=ENTROPY), "entropy of attention"),
        *kept_entries,
        *time_entries(runs, "t_grok", "grokking"),
    ]
    legend(figure, entries)
    return figure
