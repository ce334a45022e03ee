"""Does attention smooth on the plateau (structural inference, Conj. E.1)? Logit variance and entropy over epochs."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from ....figures.curves import draw_seeds
from ....figures.data import RunCurves, by_arm, need
from ....figures.panels import legend, log_values, panels, subtitle
from ....figures.phases import mark_time, time_entries
from ....figures.registry import figures
from ....figures.style import arm_colours


@figures.register("si-smoothing", needs="logit_variance", standard=False, title="Logit variance and entropy")
def logit_variance_and_entropy(runs: Sequence[RunCurves]) -> Figure:
    """Variance of the attention logits and entropy of attention over epochs, memorisation and grokking marked."""
    need(runs, "logit_variance")
    arms = by_arm(runs)
    colours = arm_colours(list(arms))
    figure, axes = panels(runs, {"variance of ℓ": 1.3, "entropy (nats)": 1.3})
    for place, (arm, members) in enumerate(arms.items()):
        for row, column in enumerate(("logit_variance", "entropy")):
            draw_seeds(axes[row, place], members, column, colours[arm], column)
            for name in ("t_mem", "t_grok"):
                mark_time(axes[row, place], members, name)
        subtitle(axes[0, place], f"{len(members)} seed{'s' if len(members) > 1 else ''}")
    log_values(axes[0, 0])
    axes[1, 0].set_ylim(bottom=0)
    if entries := [*time_entries(runs, "t_mem", "memorisation"), *time_entries(runs, "t_grok", "grokking")]:
        legend(figure, entries)
    return figure
