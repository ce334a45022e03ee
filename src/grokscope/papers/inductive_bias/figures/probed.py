"""What a probe found in every checkpoint, over epochs: one column of panels per arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....experiments.collect import curves_from
from ....figures import RunCurves, figures
from ....figures.curves import draw_seeds
from ....figures.data import by_arm
from ....figures.panels import legend, log_values, outcome, panels, subtitle
from ....figures.phases import mark_time, time_entries
from ....figures.style import OTHERS, TEST_COLOUR, TRAIN_COLOUR, styled
from .checkpoints import checkpoint_curves, draw_checkpoints
from .shortcuts import ENTROPY

if TYPE_CHECKING:
    import pandas as pd

    from ....store.results import Results


class Shown(NamedTuple):
    """How a column is drawn."""

    label: str
    colour: str
    mark: str


Rows = Mapping[str, Mapping[str, Shown]]
"""By the label of a row of panels: its columns."""

INPUTS = {
    "own": Shown("as trained", TEST_COLOUR, "."),
    "equal": Shown("every MLP input has the mean norm", OTHERS[0], "o"),
    "unit": Shown("every MLP input has norm 1", OTHERS[1], "v"),
}
KERNEL: Rows = {
    "1 − alignment": {
        "start": Shown("with the start", OTHERS[0], "o"),
        "previous": Shown("with the checkpoint before", OTHERS[1], "^"),
    },
    "‖K − K₀‖/‖K₀‖": {"relative": Shown("summed logits", OTHERS[2], "v")},
}
RANK: Rows = {
    "effective rank": {
        "effective_rank_train": Shown("pre-logits, training inputs", TRAIN_COLOUR, "o"),
        "effective_rank_test": Shown("pre-logits, test inputs", TEST_COLOUR, "^"),
    },
    "test accuracy": {"test_accuracy": Shown("test accuracy", TEST_COLOUR, ".")},
}


@figures.register("ib-input-norm", takes="results", needs="input-norm", title="Norms of the MLP input")
def input_norms(results: Results) -> Figure:
    """Above, entropy of attention; below, training accuracy when every input of the MLP has the same norm."""
    figure = probed(checkpoint_curves(results, by_norm(results)), {"train accuracy": INPUTS}, curves_from(results))
    figure.axes[1].set_ylim(-0.04, 1.04)
    return figure


@figures.register("ib-kernel", takes="results", needs="ntk", title="Drift of the tangent kernel")
def kernel(results: Results) -> Figure:
    """Above, distance of the tangent kernel of centred logits from its start; below, the authors' relative distance."""
    table = results.probes["ntk"]
    return probed(checkpoint_curves(results, table[table["epoch"] > 0]), KERNEL, logarithmic="‖K − K₀‖/‖K₀‖")


@figures.register("ib-prelogits", takes="results", needs="prelogits", title="Effective rank of the pre-logits")
def prelogits(results: Results) -> Figure:
    """Above, effective rank of the pre-logits; below, test accuracy at the same checkpoints."""
    return probed(checkpoint_curves(results, results.probes["prelogits"]), RANK)


def by_norm(results: Results) -> pd.DataFrame:
    """Training accuracy by how the MLP's input is rescaled, one row per checkpoint."""
    table = results.probes["input-norm"]
    train = table[table["side"] == "train"]
    return train.pivot_table(index=["run", "epoch"], columns="norm", values="accuracy").reset_index()


@styled
def probed(
    checkpoints: Sequence[RunCurves], rows: Rows, runs: Sequence[RunCurves] = (), logarithmic: str = ""
) -> Figure:
    """One column per arm.

    runs          whose entropy of attention is drawn above; none by default
    logarithmic   the row with a log scale
    """
    heights = ({"entropy (nats)": 1.2} if runs else {}) | dict.fromkeys(rows, 1.3)
    figure, axes = panels(runs or checkpoints, heights)
    found = by_arm(checkpoints)
    for arm, (name, members) in enumerate(by_arm(runs or checkpoints).items()):
        if runs:
            draw_seeds(axes[0, arm], members, "entropy", ENTROPY, "entropy")
        for ax, columns in zip(axes[bool(runs) :, arm], rows.values(), strict=True):
            for column, shown in columns.items():
                draw_checkpoints(ax, found.get(name, []), column, shown.colour, shown.mark)
        for ax in axes[:, arm]:
            mark_time(ax, members, "t_grok")
        subtitle(axes[0, arm], outcome(members))
    if logarithmic:
        log_values(axes[list(heights).index(logarithmic), 0])
    entries = [
        (Line2D([], [], color=shown.colour, marker=shown.mark, ms=3.5, lw=0.8), shown.label)
        for columns in rows.values()
        for shown in columns.values()
    ]
    entries = [*([(Line2D([], [], color=ENTROPY), "entropy of attention")] if runs else []), *entries]
    legend(figure, [*entries, *time_entries(runs or checkpoints, "t_grok", "grokking")])
    return figure
