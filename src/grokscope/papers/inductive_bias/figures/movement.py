"""How features move away from their start, and whether they ever rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....figures import RunCurves, figures
from ....figures.curves import draw_seeds
from ....figures.data import by_arm, need
from ....figures.panels import legend, log_values, outcome, panels, subtitle
from ....figures.phases import mark_time, time_entries
from ....figures.style import MEANINGS, OTHERS, TEST_COLOUR, styled
from .checkpoints import checkpoint_curves, draw_checkpoints

if TYPE_CHECKING:
    from ....store.results import Results

FEATURES = {
    "hidden": ("hidden layer", MEANINGS["MLP"].look.colour),
    "pooled": ("pooled features", OTHERS[2]),
    "embedding": ("embeddings", OTHERS[0]),
}
"""Features by the beginning of their columns: their label and colour."""


@figures.register("ib-movement", takes="results", needs="features", title="Movement of features")
def movement(results: Results) -> Figure:
    """Above, CKA of features with their start, and test accuracy; below, how far they moved since the checkpoint before."""
    table = results.probes["features"]
    moved = {name.replace("previous", "moved"): 1 - table[name] for name in table if name.endswith("_previous")}
    return feature_movement(checkpoint_curves(results, table.assign(**moved)))


@styled
def feature_movement(checkpoints: Sequence[RunCurves]) -> Figure:
    """One column per arm: likeness of features to their start above, and how far they moved since the checkpoint before below."""
    need(checkpoints, "hidden_start")
    arms = by_arm(checkpoints)
    rows = {"CKA with start": 1.3, "1 − CKA with previous": 1.3}
    figure, axes = panels(checkpoints, rows)
    for arm, members in enumerate(arms.values()):
        for what, (_, colour) in FEATURES.items():
            for ax, since in zip(axes[:, arm], ("start", "moved"), strict=True):
                draw_checkpoints(ax, members, f"{what}_{since}", colour, ".")
        draw_seeds(axes[0, arm], members, "test_accuracy", TEST_COLOUR, "test accuracy", spread="half", lw=1.0, ls="--")
        for ax in axes[:, arm]:
            mark_time(ax, members, "t_grok")
        subtitle(axes[0, arm], outcome(members))
    axes[0, 0].set_ylim(-0.04, 1.04)
    log_values(axes[1, 0])
    entries = [(Line2D([], [], color=colour, marker=".", lw=0.9), label) for label, colour in FEATURES.values()]
    entries.append((Line2D([], [], color=TEST_COLOUR, ls="--", lw=0.9), "test accuracy (upper panels)"))
    legend(figure, [*entries, *time_entries(checkpoints, "t_grok", "grokking")])
    return figure
