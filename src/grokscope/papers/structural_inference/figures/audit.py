"""The pictures of an audit (structural inference, Thm 4.3, Def. 4.2, Eq. 5, Eq. 52, Lemma 5.1): measured against claimed.

What is claimed comes as columns beside the metrics: gamma, gamma_sampled, uniform, r_max, free_decay, envelope, delta_nec.
A run to which a claim does not apply has no number there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....figures.data import RunCurves, by_arm, need, recorded
from ....figures.layout import Panels, draw_seeds, legend, log_values, panels, subtitle
from ....figures.phases import mark_time, time_entries
from ....figures.style import arm_colours, styled

BLACK, GREY = "black", "#888888"
DASHES, DOTS = (0, (5, 2)), (0, (1, 1.5))
Line = tuple[str, str, dict[str, Any]]
"""Column, name in the legend, and look of a line; without a colour it takes that of its arm."""


@styled
def mass_against_threshold(runs: Sequence[RunCurves]) -> Figure:
    """Attention on the least attended informative position, beside the γ that Thm 4.3 asks for."""
    lines: list[Line] = [
        ("mass_worst", "worst input", {}),
        ("mass_mean", "mean of inputs", {"ls": DASHES, "lw": 1.0}),
        ("gamma", "γ, L_max from above", {"color": BLACK, "lw": 1.0}),
        ("gamma_sampled", "γ, L_max sampled", {"color": BLACK, "lw": 1.0, "ls": DASHES}),
        ("uniform", "uniform attention", {"color": GREY, "lw": 1.0, "ls": DOTS}),
    ]
    figure, axes = _draw(runs, "least attention on I*", lines)
    log_values(axes[0, 0])
    return figure


@styled
def norm_against_decay(runs: Sequence[RunCurves]) -> Figure:
    """The norm of the MLP beside the outside of the Goldilocks shell and what decay alone would make of it."""
    lines: list[Line] = [
        ("mlp_norm", "measured", {}),
        ("r_max", "r_max", {"color": BLACK, "lw": 1.0}),
        ("free_decay", "decay alone from t_mem on", {"color": GREY, "lw": 1.0, "ls": DASHES}),
    ]
    figure, axes = _draw(runs, "MLP norm ‖θ‖ (Frobenius)", lines)
    axes[0, 0].set_ylim(bottom=0)
    return figure


@styled
def divergence_under_envelope(runs: Sequence[RunCurves]) -> Figure:
    """D beside the exponential that Eq. 52 says it stays under, and the δ_nec it must get below."""
    lines: list[Line] = [
        ("D", "measured", {}),
        ("envelope", "envelope, Eq. 52", {"color": BLACK, "lw": 1.0, "ls": DASHES}),
        ("delta_nec", "δ_nec, Cor. 4.5", {"color": GREY, "lw": 1.0}),
    ]
    figure, axes = _draw(runs, "D = KL(α*‖α) (nats)", lines)
    measured = np.concatenate([run.series("D")[1] for run in runs])
    if (measured > 0).any():
        axes[0, 0].set_ylim(0.3 * np.nanmin(measured[measured > 0]))  # a strong prior's envelope goes to nothing
    log_values(axes[0, 0])
    return figure


@styled
def bound_ratio(runs: Sequence[RunCurves]) -> Figure:
    """The largest measured gradient over its bound of Lemma 5.1; 1 would be a violation."""
    figure, axes = _draw(runs, "|∂CE/∂ℓⱼ| over its bound", [("bound_ratio", "largest ratio", {})], also=[_one()])
    for ax in axes[0]:
        ax.axhline(1, color=BLACK, lw=1.0, gid="violation")
    log_values(axes[0, 0])
    return figure


def _draw(
    runs: Sequence[RunCurves], label: str, lines: Sequence[Line], also: Sequence[tuple[Line2D, str]] = ()
) -> tuple[Figure, Panels]:
    """One panel an arm with all the lines that were recorded, grokking marked."""
    need(runs, lines[0][0])
    lines = [line for line in lines if recorded(runs, line[0])]
    arms = by_arm(runs)
    colours = arm_colours(list(arms))
    figure, axes = panels(runs, {label: 1.7})
    for arm, (name, members) in enumerate(arms.items()):
        ax = axes[0, arm]
        for column, _, look in reversed(lines):
            rest = {key: value for key, value in look.items() if key != "color"}
            draw_seeds(ax, members, column, look.get("color", colours[name]), column, **rest)
        mark_time(ax, members, "t_grok")
        subtitle(ax, f"{len(members)} seed{'s' if len(members) > 1 else ''}")
    handles: list[tuple[Any, str]] = []
    for _, text, look in lines:
        shades = [look["color"]] if "color" in look else list(colours.values())[:4]
        handles.append((tuple(Line2D([], [], **{**look, "color": shade}) for shade in shades), text))
    legend(figure, [*handles, *also, *time_entries(runs, "t_grok", "grokking")])
    return figure, axes


def _one() -> tuple[Line2D, str]:
    return Line2D([], [], color=BLACK, lw=1.0), "1: a violation"
