"""Restricted and excluded loss beside the losses (Nanda et al. 2023, §5.1), from the table of the probe `progress`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ....figures.curves import HALF, draw_seeds
from ....figures.data import RunCurves, by_arm, probed
from ....figures.panels import legend, log_values, panels, subtitle
from ....figures.registry import figures
from ....figures.style import NEUTRAL, OTHERS, TEST_COLOUR, TRAIN_COLOUR, TRAIN_DASHES

if TYPE_CHECKING:
    import pandas as pd

    from ....store.results import Results

LINES = {
    "train_loss": ("training loss", TRAIN_COLOUR, TRAIN_DASHES),
    "test_loss": ("test loss", TEST_COLOUR, "-"),
    "restricted_loss": ("restricted loss: key frequencies alone", OTHERS[0], (0, (1.5, 1))),
    "excluded_loss": ("excluded loss: without them, training set", OTHERS[1], (0, (6, 1.5))),
}
"""Column: name in the legend, colour and dashes."""


@figures.register("gt-progress", takes="results", needs="progress", title="Restricted and excluded loss")
def progress_measures(results: Results) -> Figure:
    """One panel per arm: does the restricted loss fall, and the excluded loss rise, before the test loss falls?"""
    progress = probed(results, "progress")
    runs = [
        RunCurves(arm=str(arm), seed=int(seed), metrics=own)
        for (arm, seed, _), own in progress.groupby(["arm", "seed", "run"], sort=False)
    ]
    figure, axes = panels(runs, {"cross-entropy (nats)": 1.9})
    for ax, (arm, members) in zip(axes[0], by_arm(runs).items(), strict=True):
        for column, (label, colour, dashes) in LINES.items():
            draw_seeds(ax, members, column, colour, label, spread="half", ls=dashes, lw=1.3)
        subtitle(ax, _key(progress[progress["arm"] == arm]))
    log_values(axes[0, 0])
    entries = [(Line2D([], [], color=colour, ls=ls, lw=1.3), label) for label, colour, ls in LINES.values()]
    several = max(map(len, by_arm(runs).values())) > 2
    legend(figure, [*entries, *[(Patch(facecolor=NEUTRAL, alpha=0.2, lw=0), HALF)] * several])
    return figure


def _key(rows: pd.DataFrame) -> str:
    """How many key frequencies the runs have."""
    counts = sorted({1 + words.count(",") for words in rows["key_frequencies"]})
    span = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{span} key frequenc{'y' if counts[-1] == 1 else 'ies'}"
