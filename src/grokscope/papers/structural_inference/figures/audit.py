"""The figures of an audit (structural inference, Thm 4.3, Def. 4.2, Eq. 5, Eq. 52, Lemma 5.1): measured against claimed.

What is claimed comes as columns beside the metrics: gamma, gamma_sampled, uniform, r_max, free_decay, envelope, delta_nec.
A run to which a claim does not apply has no number there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....figures.curves import draw_seeds
from ....figures.data import RunCurves, by_arm, need, recorded
from ....figures.panels import Panels, legend, log_values, panels, subtitle
from ....figures.phases import mark_time, time_entries
from ....figures.registry import figures
from ....figures.style import arm_colours

BLACK, GREY = "black", "#888888"
DASHES, DOTS = (0, (5, 2)), (0, (1, 1.5))
Line = tuple[str, str, dict[str, Any]]
"""Column, name in the legend, and style of a line; without a colour it takes that of its arm."""


@figures.register(
    "si-audit-mass",
    needs="mass_worst",
    standard=False,
    title="Attention against γ",
    shows="Log-log line charts: least attention on an informative position over epochs, with γ as a level line.",
    caption="Thm 4.3 asks that the coloured line be above the black one once a run has grokked. Where γ lies below the "
    "dotted line, uniform attention is enough and the condition is empty. The dashed γ takes the sampled L_max: no "
    "true L_max allows a larger γ.",
)
def mass_against_threshold(runs: Sequence[RunCurves]) -> Figure:
    """Attention on the least attended informative position, and the γ that Thm 4.3 asks for."""
    lines: list[Line] = [
        ("mass_worst", "worst input", {}),
        ("mass_mean", "mean of inputs", {"ls": DASHES, "lw": 1.0}),
        ("gamma", "γ, L_max from above", {"color": BLACK, "lw": 1.0}),
        ("gamma_sampled", "γ, L_max sampled", {"color": BLACK, "lw": 1.0, "ls": DASHES}),
        ("uniform", "uniform attention", {"color": GREY, "lw": 1.0, "ls": DOTS}),
    ]
    figure, axes = draw_lines(runs, "least attention on I*", lines)
    log_values(axes[0, 0])
    return figure


@figures.register(
    "si-audit-norm",
    needs="mlp_norm",
    standard=False,
    title="MLP norm against decay",
    shows="Log-log line charts: MLP norm over epochs, the outer radius r_max, and the norm that decay alone would leave.",
    caption="Eq. 5 takes the plateau for the time in which decay brings the norm from memorisation down to r_max. If the "
    "coloured line does not follow the dashed one, the task gradient is not negligible on the plateau. r_max is "
    "the largest norm from t_grok on.",
)
def norm_against_decay(runs: Sequence[RunCurves]) -> Figure:
    """The norm of the MLP, the outer radius of the Goldilocks shell, and the norm that decay alone would leave."""
    lines: list[Line] = [
        ("mlp_norm", "measured", {}),
        ("r_max", "r_max", {"color": BLACK, "lw": 1.0}),
        ("free_decay", "decay alone from t_mem on", {"color": GREY, "lw": 1.0, "ls": DASHES}),
    ]
    figure, axes = draw_lines(runs, "MLP norm ‖θ‖ (Frobenius)", lines)
    axes[0, 0].set_ylim(bottom=0)
    return figure


@figures.register(
    "si-audit-divergence",
    needs="D",
    standard=False,
    title="D against its envelope",
    shows="Log-log line charts: divergence D over epochs, with the exponential envelope and the level δ_nec.",
    caption="Eq. 52 says that with the oracle prior D stays under the dashed line, whose rate is that of its first fall, "
    "to D_0/e. The grey level is δ_nec, which D must be below once a run has grokked; where D starts below it, Cor. 4.5 is empty.",
)
def divergence_under_envelope(runs: Sequence[RunCurves]) -> Figure:
    """D, the exponential envelope of Eq. 52, and the level δ_nec that it has to fall below."""
    lines: list[Line] = [
        ("D", "measured", {}),
        ("envelope", "envelope, Eq. 52", {"color": BLACK, "lw": 1.0, "ls": DASHES}),
        ("delta_nec", "δ_nec, Cor. 4.5", {"color": GREY, "lw": 1.0}),
    ]
    figure, axes = draw_lines(runs, "D = KL(α*‖α) (nats)", lines)
    measured = np.concatenate([run.series("D")[1] for run in runs])
    if (measured > 0).any():
        axes[0, 0].set_ylim(0.3 * np.nanmin(measured[measured > 0]))  # a strong prior's envelope goes to nothing
    log_values(axes[0, 0])
    return figure


@figures.register(
    "si-audit-bound",
    needs="bound_ratio",
    standard=False,
    title="Lemma 5.1 over time",
    shows="Log-log line charts: largest gradient on an attention logit over its bound, over epochs, below 1 throughout.",
    caption="How much of its bound (tight form) the task gradient on an attention logit uses, at its largest. Above 1 there "
    "would be a bug; far below 1 the bound is loose, and says little about how starved attention is.",
)
def bound_ratio(runs: Sequence[RunCurves]) -> Figure:
    """The largest measured gradient over its bound of Lemma 5.1; 1 would be a violation."""
    figure, axes = draw_lines(runs, "|∂CE/∂ℓⱼ| over its bound", [("bound_ratio", "largest ratio", {})], also=[_one()])
    for ax in axes[0]:
        ax.axhline(1, color=BLACK, lw=1.0, gid="violation")
    log_values(axes[0, 0])
    return figure


def draw_lines(
    runs: Sequence[RunCurves], label: str, lines: Sequence[Line], also: Sequence[tuple[Line2D, str]] = ()
) -> tuple[Figure, Panels]:
    """One panel per arm with all the lines that were recorded, grokking marked."""
    need(runs, lines[0][0])
    lines = [line for line in lines if recorded(runs, line[0])]
    arms = by_arm(runs)
    colours = arm_colours(list(arms))
    figure, axes = panels(runs, {label: 1.7})
    for arm, (name, members) in enumerate(arms.items()):
        ax = axes[0, arm]
        for column, _, style in reversed(lines):
            rest = {key: value for key, value in style.items() if key != "color"}
            draw_seeds(ax, members, column, style.get("color", colours[name]), column, **rest)
        mark_time(ax, members, "t_grok")
        subtitle(ax, f"{len(members)} seed{'s' if len(members) > 1 else ''}")
    handles: list[tuple[Any, str]] = []
    for _, text, style in lines:
        shades = [style["color"]] if "color" in style else list(colours.values())[:4]
        handles.append((tuple(Line2D([], [], **{**style, "color": shade}) for shade in shades), text))
    legend(figure, [*handles, *also, *time_entries(runs, "t_grok", "grokking")])
    return figure, axes


def _one() -> tuple[Line2D, str]:
    return Line2D([], [], color=BLACK, lw=1.0), "1: a violation"
