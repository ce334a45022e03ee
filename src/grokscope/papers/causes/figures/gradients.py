"""The gradient of each part of the network while it memorises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ....figures import figures
from ....figures.style import MEANINGS
from ...inductive_bias.figures.checkpoints import checkpoint_curves
from ...inductive_bias.figures.probed import Rows, Shown, probed

if TYPE_CHECKING:
    from ....store.results import Results

NORM = "norm of the gradient"
PARTS: Rows = {
    NORM: {
        "attention": Shown("attention", MEANINGS["attention"].look.colour, "o"),
        "mlp": Shown("MLP", MEANINGS["MLP"].look.colour, "^"),
    }
}


@figures.register("causes-gradients", takes="results", needs="part-gradients", title="Gradients while it memorises")
def gradients(results: Results) -> Figure:
    """Norm of the task gradient on attention and on the MLP, at each checkpoint of the watched runs."""
    named = results.runs["arm"].str.endswith("watched")
    chosen = results.runs[named] if named.any() else results.runs  # runs of a reader's own bear other names
    found = results.probes["part-gradients"]
    watched = checkpoint_curves(results._replace(runs=chosen), found[found["run"].isin(chosen["run"])])
    return probed(watched, PARTS, logarithmic=NORM)
