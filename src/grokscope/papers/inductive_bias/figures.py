"""Pictures of the inductive-bias experiments: attention and shortcuts, moving features, compressibility, factorials of times.

What a probe found in checkpoints comes as `RunCurves` too, with a row a checkpoint.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...figures.data import RunCurves, by_arm, middle, need
from ...figures.layout import draw_seeds, legend, log_epochs, log_values, outcome, panels, subtitle, wrapped
from ...figures.phases import mark_time, time_entries
from ...figures.style import PAGE_WIDTH, SMALL, TRAIN_COLOUR, arm_colours, styled
from ...figures.times import CENSORED, GREY

KEPT = {
    "operands": ("both operands, distractors resampled", "#0072B2", "o"),
    "one operand": ("one operand and distractors", "#E69F00", "^"),
    "distractors": ("distractors alone", "#D55E00", "v"),
    "single operand": ("one operand alone", "#000000", "x"),
}
"""What is kept of a training sequence: its words, colour and mark."""

ENTROPY = "#CC79A7"
FEATURES = {
    "hidden": ("hidden layer", "#0072B2"),
    "pooled": ("pooled features", "#D55E00"),
    "embedding": ("embeddings", "#009E73"),
}
"""Features by the beginning of their columns: their words and colour."""


@styled
def entropy_and_shortcuts(runs: Sequence[RunCurves], checkpoints: Sequence[RunCurves]) -> Figure:
    """One column an arm: entropy of attention above; below, training accuracy when only a part of the sequence is its own."""
    need(runs, "entropy")
    arms, looked = by_arm(runs), by_arm(checkpoints)
    figure, axes = panels(runs, {"entropy (nats)": 1.2, "train accuracy": 1.35})
    axes[1, 0].set_ylim(-0.04, 1.04)
    for arm, (name, members) in enumerate(arms.items()):
        draw_seeds(axes[0, arm], members, "entropy", ENTROPY, "entropy")
        for kept, (_, colour, mark) in KEPT.items():
            _checkpoints(axes[1, arm], looked.get(name, []), kept, colour, mark)
        for ax in axes[:, arm]:
            mark_time(ax, members, "t_grok")
        subtitle(axes[0, arm], outcome(members))
    axes[0, 0].set_ylim(bottom=0)
    kept_entries = [(Line2D([], [], color=c, marker=m, ms=3.5, lw=0.8), words) for words, c, m in KEPT.values()]
    entries = [
        (Line2D([], [], color=ENTROPY), "entropy of attention"),
        *kept_entries,
        *time_entries(runs, "t_grok", "grokking"),
    ]
    legend(figure, entries)
    return figure


@styled
def feature_movement(checkpoints: Sequence[RunCurves]) -> Figure:
    """One column an arm: likeness of features to their start above, and how far they moved since the checkpoint before below."""
    need(checkpoints, "hidden_start")
    arms = by_arm(checkpoints)
    rows = {"CKA with start": 1.3, "1 − CKA with previous": 1.3}
    figure, axes = panels(checkpoints, rows)
    for arm, members in enumerate(arms.values()):
        for what, (_, colour) in FEATURES.items():
            for ax, since in zip(axes[:, arm], ("start", "moved"), strict=True):
                _checkpoints(ax, members, f"{what}_{since}", colour, ".")
        for run in members:
            axes[0, arm].plot(*run.series("test_accuracy"), color=TRAIN_COLOUR, lw=0.9, ls="--", zorder=1.5)
        for ax in axes[:, arm]:
            mark_time(ax, members, "t_grok")
        subtitle(axes[0, arm], outcome(members))
    axes[0, 0].set_ylim(-0.04, 1.04)
    log_values(axes[1, 0])
    entries = [(Line2D([], [], color=colour, marker=".", lw=0.9), words) for words, colour in FEATURES.values()]
    entries.append((Line2D([], [], color=TRAIN_COLOUR, ls="--", lw=0.9), "test accuracy (upper panels)"))
    legend(figure, [*entries, *time_entries(checkpoints, "t_grok", "grokking")])
    return figure


def _checkpoints(ax: Axes, runs: Sequence[RunCurves], column: str, colour: str, mark: str) -> None:
    """A thin line a seed with a mark at every checkpoint."""
    for run in runs:
        (line,) = ax.plot(*run.series(column), color=colour, marker=mark, ms=3, lw=0.8, alpha=0.8, zorder=2)
        line.set(clip_on=False, gid=column)


@styled
def compressibility_scatter(points: pd.DataFrame, columns: Mapping[str, tuple[str, str]]) -> Figure:
    """A panel a measure: test accuracy of every checkpoint against it, in the colour of what was changed.

    points    a row a checkpoint with the columns modulator, test_accuracy and the measures
    columns   what each measure is called, and what was found of it (the correlation), said in the panel's title
    """
    figure = Figure(figsize=(PAGE_WIDTH, 2.9))
    axes = figure.subplots(1, len(columns), sharey=True, squeeze=False)[0]
    modulators = list(points["modulator"].unique())
    colours, marks = arm_colours(modulators), "os^Dv<>"
    for ax, (column, (label, found)) in zip(axes, columns.items(), strict=True):
        for place, name in enumerate(modulators):
            own = points[points["modulator"] == name]
            look = {"s": 9, "alpha": 0.7, "linewidths": 0, "color": colours[name], "marker": marks[place % len(marks)]}
            ax.scatter(own[column], own["test_accuracy"], gid=name, **look)
        ax.set_xlabel(wrapped(label, 30))
        ax.set_title(found, fontsize=SMALL, fontweight="normal")
        ax.set_ylim(-0.04, 1.04)
    axes[0].set_ylabel("test accuracy (fraction)")
    entries = [
        (Line2D([], [], color=colours[name], marker=marks[place % len(marks)], ls="", ms=4.5, mew=0), name)
        for place, name in enumerate(modulators)
    ]
    if entries:
        legend(figure, entries)
    return figure


@styled
def times_in_panels(runs: Sequence[RunCurves]) -> Figure:
    """Grokking times of a factorial: a dot a seed, a hollow triangle at the last epoch of a run that never grokked.

    Arms are named `panel, row`.
    """
    grouped: dict[str, dict[str, list[RunCurves]]] = {}
    for arm, members in by_arm(runs).items():
        panel, _, row = arm.rpartition(", ")
        grouped.setdefault(panel, {})[row] = members
    rows = list(dict.fromkeys(row for own in grouped.values() for row in own))
    columns = 2 if len(grouped) in (2, 4) else min(len(grouped), 3)
    lines = math.ceil(len(grouped) / columns)
    figure = Figure(figsize=(PAGE_WIDTH, 0.7 + lines * (0.55 + 0.2 * len(rows))))
    axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    colours = arm_colours(rows)
    for ax in axes.flat[len(grouped) :]:
        ax.set_visible(False)
    for ax, (panel, own) in zip(axes.flat, grouped.items(), strict=False):
        ax.set_title(panel)
        for row, members in own.items():
            _row(ax, rows.index(row), members, colours[row])
        ax.grid(axis="y", visible=False)
    shown = [run.last_epoch if run.t_grok is None else run.t_grok for run in runs]
    log_epochs(axes[0, 0], max(min(shown), 1) / 1.3, max(*shown, 1) * 1.3)
    axes[0, 0].set_ylim(len(rows) - 0.4, -0.6)
    axes[0, 0].set_yticks(range(len(rows)), rows)
    for ax in axes.flat:
        ax.tick_params(axis="y", length=0)
    for ax in axes[-1]:
        ax.set_xlabel("epoch of grokking")
    marks = [("o", "none" if hollow else GREY, words) for hollow, words in ((False, "a seed"), (True, CENSORED))]
    entries = [
        (Line2D([], [], color=GREY, ls="", marker=">" if face == "none" else mark, mfc=face, ms=4.5, mew=0.9), words)
        for mark, face, words in marks
    ]
    entries.insert(1, (Line2D([], [], color=GREY, ls="", marker="|", mew=2, ms=8, alpha=0.6), "median"))
    legend(figure, entries)
    return figure


def _row(ax: Axes, row: int, members: Sequence[RunCurves], colour: str) -> None:
    heights = row + np.linspace(-0.22, 0.22, len(members)) if len(members) > 1 else [float(row)]
    for run, height in zip(members, heights, strict=True):
        if run.t_grok is None:
            ax.plot(run.last_epoch, height, ">", color=colour, mfc="none", mew=0.9, ms=4.5, gid="censored")
        else:
            ax.plot(run.t_grok, height, "o", color=colour, alpha=0.85, mew=0, ms=4.5, gid="grokked")
    median = middle(members).t_grok
    if median is not None:
        ax.vlines(median, row - 0.34, row + 0.34, color=colour, lw=2, alpha=0.6, zorder=1.5, gid="median")
