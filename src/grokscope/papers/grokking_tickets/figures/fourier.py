"""Periodic neurons: Fourier entropy over epochs, what neurons read, and their spectra (grokking tickets, Figures 8, 17 and 18).

The last two are drawn from the table of the probe `neurons`: one row per matrix, with one line per neuron.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....figures.curves import overlay_panels
from ....figures.data import RunCurves, Values, first_seed, need, probed, recorded
from ....figures.panels import wrapped
from ....figures.registry import figures
from ....figures.style import PAGE_WIDTH, SEQUENTIAL, arm_colours
from ....store.blocks import numbers_of

if TYPE_CHECKING:
    from ....store.results import Results

LABELS = {
    "fourier_entropy_in": "Fourier entropy,\nreads (nats)",
    "fourier_entropy_out": "Fourier entropy,\nwrites (nats)",
    "test_accuracy": "test accuracy\n(fraction)",
}
LINES = 8
"""Neurons whose weights are drawn as lines."""


@figures.register("gt-fourier", needs="fourier_entropy_in", standard=False, title="Fourier entropy")
def fourier_entropy_over_time(runs: Sequence[RunCurves]) -> Figure:
    """Fourier entropy of what the neurons read and write, above the test accuracy: does the one fall when the other rises?"""
    need(runs, "fourier_entropy_in")
    return overlay_panels(runs, {column: label for column, label in LABELS.items() if recorded(runs, column)})[0]


@figures.register("gt-neurons", takes="results", needs="neurons", title="What neurons read")
def neuron_weights(results: Results) -> Figure:
    """What neurons read from every operand: one row per arm, one column per checkpoint, one line per neuron.

    Of the run with the lowest seed; the eight neurons that read most at its last checkpoint, each drawn around a height of its own.
    """
    figure, cells = _grid(results, "reads")
    colours = arm_colours(list(cells))
    for name, arm in cells.items():
        last = arm[-1][1]
        chosen = np.argsort(-np.linalg.norm(last, axis=1), kind="stable")[:LINES]
        step = 1.1 * max(float(np.ptp(matrix[chosen], axis=1).max()) for _, matrix in arm)
        for ax, matrix in arm:
            for line, neuron in enumerate(chosen):
                ax.plot(matrix[neuron] - line * step, color=colours[name], lw=0.8)
            ax.set_yticks([-line * step for line in range(len(chosen))], [str(neuron) for neuron in chosen])
            ax.tick_params(axis="y", length=0, labelleft=ax is arm[0][0])
            ax.set_xlim(0, matrix.shape[1] - 1)
            ax.grid(visible=False)
    return _labelled(figure, cells, "operand")


@figures.register("gt-spectra", takes="results", needs="neurons", title="Spectra of neurons")
def neuron_spectra(results: Results) -> Figure:
    """How strongly each neuron reads each frequency: one row per arm, one column per checkpoint, one line of pixels per neuron.

    Of the run with the lowest seed. Neurons are sorted by their strongest frequency at its last checkpoint; colours go from 0
    to the largest amplitude of the arm. The constant part (frequency 0) is left out.
    """
    figure, cells = _grid(results, "spectrum")
    for arm in cells.values():
        last = arm[-1][1][:, 1:]
        order = np.argsort(last.argmax(axis=1), kind="stable")
        top = max(float(matrix[:, 1:].max()) for _, matrix in arm)
        for ax, matrix in arm:
            extent = (0.5, matrix.shape[1] - 0.5, len(matrix), 0)
            shown = matrix[order][:, 1:]
            image = ax.imshow(
                shown, aspect="auto", cmap=SEQUENTIAL, vmin=0, vmax=top, extent=extent, interpolation="none"
            )
            ax.set_yticks([])
            ax.grid(visible=False)
        figure.colorbar(image, ax=[ax for ax, _ in arm], label="|F(ω)|", pad=0.01)
    return _labelled(figure, cells, "frequency ω")


Cells = dict[str, list[tuple[Axes, Values]]]
"""The panels of each arm with their matrices, in order of epochs."""


def _grid(results: Results, what: str) -> tuple[Figure, Cells]:
    """Panels for one kind of matrix: one row per arm, one column per checkpoint, with epochs as titles."""
    neurons = probed(results, "neurons")
    rows = neurons[neurons["what"] == what]
    arms = {str(arm): first_seed(own) for arm, own in rows.groupby("arm", sort=False)}
    columns = max(len(own) for own in arms.values())
    figure = Figure(figsize=(PAGE_WIDTH, 0.4 + 1.75 * len(arms)))
    axes = figure.subplots(len(arms), columns, squeeze=False)
    cells: Cells = {}
    for line, (arm, own) in zip(axes, arms.items(), strict=True):
        for ax in line[len(own) :]:
            ax.set_axis_off()
        cells[arm] = [(ax, numbers_of(row)) for ax, row in zip(line, own.to_dict("records"), strict=False)]
        for ax, epoch in zip(line, own["epoch"], strict=False):
            ax.set_title(f"epoch {epoch:,}", fontweight="normal")
    return figure, cells


def _labelled(figure: Figure, cells: Cells, label: str) -> Figure:
    for name, arm in cells.items():
        arm[0][0].set_ylabel(f"{wrapped(name, 24)}\nneuron")
        for ax, _ in arm:
            ax.set_xlabel(label if name == list(cells)[-1] else "")
    return figure
