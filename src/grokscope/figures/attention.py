"""Attention mass per position over epochs: where the query looks while it memorises, waits and groks."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from .data import RunCurves, Values, by_arm, middle, need, recorded, together
from .panels import legend, panels, subtitle
from .phases import mark_time, time_entries
from .registry import figures

QUERY_COLOUR = "#FFF3B0"
DISTRACTOR_COLOURS = ("#BDBDBD", "#D6D6D6")
INFORMATIVE_COLOURS = ("#0072B2", "#56B4E9", "#004C78", "#8FD0F5")
Layer = tuple[str, str, int]
"""Legend name, colour and position of one area of the stack."""


@figures.register(
    "attention",
    needs="attention_0",
    order=30,
    title="Where attention goes",
    shows="Stacked areas over epochs: share of attention on each position of the sequence.",
    caption="The stack adds up to 1. The positions that decide the label are blue, at the bottom (when they are the same "
    "for every input); grey is wasted on distractors. Watch when blue grows: during memorisation, on the plateau, "
    "or only at the dashed line where the middle seed groks.",
)
def attention_mass(runs: Sequence[RunCurves]) -> Figure:
    """One panel per arm: mean mass on each position as a stack that adds up to 1, the informative ones at the bottom."""
    need(runs, "attention_0")
    runs = [run for run in runs if recorded([run], "attention_0")]  # a network without attention has no panel
    arms = by_arm(runs)
    figure, axes = panels(runs, {"attention mass (fraction)": 1.7})
    axes[0, 0].set_ylim(0, 1)
    entries: dict[str, str] = {}
    for arm, members in enumerate(arms.values()):
        ax = axes[0, arm]
        layers = _layers(middle(members))
        epochs, masses = _mean_masses(members, [position for *_, position in layers])
        if epochs.size == 1:  # one evaluation is a bar
            epochs, masses = epochs * np.array([0.9, 1.1]), np.repeat(masses, 2, axis=1)
        if epochs.size:
            ax.stackplot(epochs, masses, colors=[colour for _, colour, _ in layers], edgecolor="white", lw=0.4)
        mark_time(ax, members, "t_grok")
        subtitle(ax, "mean over inputs" + (f" and {len(members)} seeds" if len(members) > 1 else ""))
        entries |= {name: colour for name, colour, _ in layers}
    handles = [(Patch(facecolor=colour), name) for name, colour in entries.items()]
    # A long sequence without known roles: every n-th position is enough to read the ramp of colours.
    handles = handles[:: 1 + len(handles) // 12]
    legend(figure, [*handles, *time_entries(runs, "t_grok", "grokking")])
    return figure


def _mean_masses(runs: Sequence[RunCurves], positions: Sequence[int]) -> tuple[Values, Values]:
    """Epochs, and one row per position: the mean over seeds (not the median: means still add up to 1)."""
    gathered = [together(runs, f"attention_{position}") for position in positions]
    gathered = [(epochs, values) for epochs, values in gathered if epochs.size]
    if len(gathered) < len(positions) or not gathered:
        return np.empty(0), np.empty((0, 0))
    common = gathered[0][0]
    return common, np.array([np.interp(common, epochs, values.mean(axis=0)) for epochs, values in gathered])


def _layers(run: RunCurves) -> list[Layer]:
    """The areas from bottom to top: informative positions, then the query, then distractors.

    Names count back from the query, as positions do: a longer test sequence has new, unnamed positions on its left.
    """
    length = len(run.attention_columns())
    shift = length - len(run.positions)
    names = {place + shift: name for place, name in enumerate(run.positions) if place + shift >= 0}
    informative = [place + shift for place in run.informative if 0 <= place + shift < length]
    if not informative:
        ramp = mpl.colormaps["cividis"]
        colours = [to_hex(ramp(place / max(length - 1, 1))) for place in range(length)]
        return [(names.get(place, f"position {place}"), colours[place], place) for place in range(length)]
    layers = []
    for count, place in enumerate(informative):
        colour = INFORMATIVE_COLOURS[count % len(INFORMATIVE_COLOURS)]
        layers.append((names.get(place, f"position {place}"), colour, place))
    rest = [place for place in range(length) if place not in informative]
    for count, place in enumerate(rest):
        if place == length - 1:
            layers.insert(len(informative), (f"{names.get(place, '')} (query)".strip(), QUERY_COLOUR, place))
        else:
            layers.append(("distractors", DISTRACTOR_COLOURS[count % 2], place))
    return layers
