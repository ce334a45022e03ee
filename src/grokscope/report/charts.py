"""Standard figures as interactive charts: median and middle half of the seeds of each arm, on common epochs.

Each entry of `CHARTS` says which metrics a figure's panels show. Other figures are drawn by matplotlib and stay still.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..figures import RunCurves, recorded
from ..figures.data import Values, by_arm, middle, score_of, together
from ..figures.phases import PHASES
from ..figures.style import PHASE_COLOURS, Look, plain_looks
from ..pages import Chart, Line, Panel, Strip

POINTS = 160
"""Most epochs of a chart, spread evenly over a log axis."""
MOST_BANDS = 6
"""With more arms than this only their medians are drawn, without phases; as many as a report page draws by default."""


class Metric(NamedTuple):
    """A column as a curve."""

    column: str
    kind: str = ""
    """Its name in the legend, where a panel shows several."""
    minor: bool = False
    """Whether it is drawn thin and dotted."""


class PanelSpec(NamedTuple):
    label: str
    """Empty for accuracies, whose panel is named by what the runs measure: accuracy, or R²."""
    metrics: Sequence[Metric]
    log: bool = False


class ChartSpec(NamedTuple):
    panels: Sequence[PanelSpec]
    caption: str
    alone: tuple[str, str] = ("", "")
    """Title and caption where only the first panel has curves, if they are others."""
    phases: bool = False
    """Whether the phases of each arm are shown above the first panel."""


CHARTS = {
    "accuracy": ChartSpec(
        [
            PanelSpec("", [Metric("train_accuracy", "train", True), Metric("test_accuracy", "test")]),
            PanelSpec("D = KL(α*‖α), nats", [Metric("D", "D")], log=True),
        ],
        "Look first at the gap between the thin dotted train curve and the thick test curve of an arm: that is the wait called "
        "grokking. Then look down: D measures how far attention is from the informative positions (0 = exactly on them). If "
        "structure is what the run is waiting for, D falls before test accuracy rises.",
        alone=(
            "Training and test",
            "Look at the gap between the thin dotted train curve and the thick test curve of an arm: that is the wait called "
            "grokking.",
        ),
        phases=True,
    ),
    "gradient": ChartSpec(
        [
            PanelSpec(
                "largest |∂CE/∂ℓⱼ|, nats",
                [Metric("grad_logit", "measured"), Metric("bound", "bound of Lemma 5.1, tight form", True)],
                log=True,
            ),
            PanelSpec("‖∂CE/∂M‖ (Frobenius)", [Metric("grad_M", "gradient on M")], log=True),
        ],
        "Once the training set is memorised the task loss is nearly 0, and Lemma 5.1 says that the gradient which could still "
        "repair attention must fade with it: each thick line has to stay under the thin dotted line of its arm. Below, the norm "
        "of the task gradient on the attention matrix M tells the same story.",
    ),
    "mlp-norm": ChartSpec(
        [PanelSpec("MLP norm ‖θ‖ (Frobenius)", [Metric("mlp_norm", "norm")])],
        "Memorising needs large weights and weight decay wears them down. Compare with the times of grokking: see whether arms "
        "grok at a similar norm, and whether an arm that never groks is kept from it by its norm or by its attention.",
    ),
    "train-test": ChartSpec(
        [PanelSpec("", [Metric("train_accuracy", "train", True), Metric("test_accuracy", "test")])],
        "Thin and dotted: training. Thick: test.",
    ),
    "norms": ChartSpec(
        [PanelSpec("L2 norm ‖θ‖₂", [Metric("l2", "L2")]), PanelSpec("L1 norm ‖θ‖₁", [Metric("l1", "L1")])],
        "Do runs that generalise end at the same norm?",
    ),
}


class ShownChart(NamedTuple):
    chart: Chart
    caption: str
    """What to look at."""
    title: str
    """What it is, if it is not what the figure is called; else empty."""


def chart_of(name: str, runs: Sequence[RunCurves], *, medians: bool = False) -> ShownChart | None:
    """The chart of a figure; None for figures without one, or without two epochs to draw.

    medians   leave out bands and phases: for a page with many charts
    """
    spec = CHARTS.get(name)
    epochs = common_epochs(runs)
    if spec is None or len(epochs) < 2:
        return None
    arms = by_arm(runs)
    looks = plain_looks(list(arms))
    few = len(arms) <= MOST_BANDS and not medians
    panels, score = [], score_of(runs)
    for panel in spec.panels:
        shown = [metric for metric in panel.metrics if recorded(runs, metric.column)]
        lines = [
            line
            for arm, own in arms.items()
            for metric in shown
            for line in _lines(own, metric, epochs, looks[arm], spread=few)
        ]
        if lines:
            kind = {} if panel.label else {"percent": score == "accuracy", "fraction": score != "accuracy"}
            panels.append(Panel(label=panel.label or score, log=panel.log, lines=lines, **kind))
    strips = (
        [strip for arm, own in arms.items() if (strip := _strip(middle(own), looks[arm].colour)).phases]
        if spec.phases and few
        else []
    )
    seen = {name for strip in strips for name, *_ in strip.phases}
    phases = [(name, colour) for name, colour in zip(PHASES, PHASE_COLOURS, strict=False) if name in seen]
    named = [(arm, look.colour, dashes_of(look)) for arm, look in looks.items()]
    if not panels:
        return None
    chart = Chart(x=epochs, panels=panels, arms=named, strips=strips, phases=phases)
    title, caption = spec.alone if len(panels) < len(spec.panels) else ("", "")
    strips_caption = " The strips above show the phases of the middle seed of each arm." if strips else ""
    return ShownChart(chart, (caption or spec.caption) + strips_caption, title)


def dashes_of(look: Look) -> tuple[float, ...]:
    """Dashes and gaps in pixels; none for a solid line."""
    return () if isinstance(look.dashes, str) else tuple(2 * part for part in look.dashes[1])


def common_epochs(runs: Sequence[RunCurves]) -> Values:
    """Epochs at which runs were evaluated, after epoch 0: all, or the last of each of `POINTS` equal parts of a log axis."""
    distinct = {own.tobytes(): own for run in runs if len(own := run.series("epoch")[0])}
    if not distinct:
        return np.empty(0)
    epochs = np.unique(np.concatenate(list(distinct.values())))
    if len(epochs) <= POINTS:
        return epochs
    place = np.log(epochs)
    part = np.floor((place - place[0]) / (place[-1] - place[0]) * (POINTS - 1) + 1e-9)
    return epochs[np.append(np.flatnonzero(np.diff(part)), len(epochs) - 1)]


def _lines(runs: Sequence[RunCurves], metric: Metric, epochs: Values, look: Look, *, spread: bool) -> list[Line]:
    """The median, with the band of their middle half if `spread`; one or two runs as they are."""
    own, values = together(runs, metric.column)
    arm = runs[0].arm
    how: dict[str, Any] = {"colour": look.colour, "dashes": dashes_of(look), "kind": metric.kind, "minor": metric.minor}
    if len(values) > 2 and len(own):
        inside = (epochs >= own[0]) & (epochs <= own[-1])
        each = np.full((len(values), len(epochs)), np.nan)
        each[:, inside] = [np.interp(epochs[inside], own, row) for row in values]
        middles = np.median(each, axis=0)
        low, high = np.percentile(each, [25, 75], axis=0) if spread else (None, None)
        return [Line(arm=arm, y=middles, low=low, high=high, **how)]
    lines = []
    for run in runs:
        at, row = run.series(metric.column)
        known = np.isfinite(row)
        if not known.any():
            continue
        at, row = at[known], row[known]
        y = np.where((epochs >= at[0]) & (epochs <= at[-1]), np.interp(epochs, at, row), np.nan)
        seed = None if len(runs) == 1 else run.seed
        lines.append(Line(arm=arm, y=y, seed=seed, **how))
    return lines


def _strip(run: RunCurves, colour: str) -> Strip:
    phases = [
        (name, float(max(start, 1)), float(run.last_epoch if end is None else end)) for name, start, end in run.phases
    ]
    return Strip(arm=run.arm, colour=colour, phases=[phase for phase in phases if phase[2] > phase[1]])
