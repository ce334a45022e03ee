"""Curves of runs: the seeds of one arm, and several arms in one panel or in small multiples."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .data import RunCurves, by_arm, middle, together
from .facets import Facet, facets
from .panels import MOST_LINES, Panels, legend, legend_beside, log_values, panels, short_number, wrapped
from .sequences import common_name, values
from .style import NEUTRAL, PAGE_WIDTH, SMALL, Look, arm_looks

Spread = Literal["seeds", "half", "none"]
MOST_BANDS = 4
"""With more arms than this in one panel only their medians are drawn."""
MOST_NAMED = 5
"""A sequence of more arms has a colour bar instead of legend entries."""
MOST_LABELLED = 3
"""Most arms that are named at the ends of their lines in one of several rows of panels."""
OTHER_ARMS = "#BDBDBD"
"""Curves of other arms in the panel of one, for comparison."""
HALF = "middle half of seeds"
END = "name at the end of a line"
SEED, MEDIAN = "seed", "median of seeds"
"""Group ids of the thin line of a seed, and the ends of those of medians and bands (`HALF`), by which pages know what is drawn."""


def draw_seeds(
    ax: Axes,
    runs: Sequence[RunCurves],
    column: str,
    colour: str,
    label: str,
    *,
    spread: Spread = "seeds",
    **line: Any,
) -> None:
    """One metric of one arm: the median over seeds at each epoch (see `together` for runs that stopped), and their spread.

    One or two runs are drawn as they are: the median of two would be a third curve that no run went through.

    spread   seeds: a band over the middle half of the seeds, and a thin line for each of at most `MOST_LINES`;
             half: the band alone; none: the median alone
    """
    epochs, found = together(runs, column)
    if len(found) <= 2:
        for count, run in enumerate(runs):
            epochs, own = run.series(column)
            lone: dict[str, Any] = {"marker": "o", "ms": 4} if np.isfinite(own).sum() == 1 else {}  # a point is no line
            ax.plot(epochs, own, color=colour, zorder=2, label=label if count == 0 else None, **{**lone, **line})
        return
    if spread == "seeds":
        for run in runs if len(runs) <= MOST_LINES else ():
            ax.plot(*run.series(column), color=colour, zorder=2, lw=0.5, alpha=0.55, ls=line.get("ls", "-"), gid=SEED)
    if spread != "none":
        half = np.percentile(found, [25, 75], axis=0)
        ax.fill_between(epochs, *half, color=colour, alpha=0.2, lw=0, zorder=1.5, gid=f"{label}, {HALF}")
    lone = {"marker": "o", "ms": 4} if len(epochs) == 1 else {}
    how: dict[str, Any] = {"color": colour, "label": label, "zorder": 3, "gid": f"{label}, {MEDIAN}", **lone, **line}
    ax.plot(epochs, np.median(found, axis=0), **how)


def overlay(
    ax: Axes,
    runs: Sequence[RunCurves],
    column: str,
    looks: Mapping[str, Look],
    *,
    spread: Spread | None = None,
    **line: Any,
) -> None:
    """One metric of several arms in one panel; a dot on the line of each arm where its middle run grokked
    (none on training curves, which have no part in it).

    spread   of the seeds, as in `draw_seeds`; by default the less the more arms there are
    """
    arms = by_arm(runs)
    spread = spread or ("seeds" if len(arms) == 1 else "half" if len(arms) <= MOST_BANDS else "none")
    for name, members in arms.items():
        look = looks[name]
        draw_seeds(ax, members, column, look.colour, name, spread=spread, **{"ls": look.dashes, **line})
        one = middle(members)
        if one.t_grok is None or column.startswith("train_"):
            continue
        epochs, found = together(members, column)
        known = one.series(column) if len(found) <= 2 else (epochs, np.median(found, axis=0))
        if known[0].size:
            height = np.interp(one.t_grok, *known)
            ax.plot(one.t_grok, height, "o", color=look.colour, mec="white", mew=0.6, zorder=4, gid="grokking")


def overlay_entries(runs: Sequence[RunCurves], looks: Mapping[str, Look], most: int) -> list[tuple[Any, str]]:
    """The legend entries of `overlay`: one line per name, the band, and the dot where there is one.

    most   the largest number of arms in a panel; 1 where seeds are lines of their own
    """
    entries: list[tuple[Any, str]] = [
        (Line2D([], [], color=look.colour, ls=look.dashes), name) for name, look in looks.items()
    ]
    arms = by_arm(runs)
    seeds = max(map(len, arms.values()))
    if 1 < most <= MOST_BANDS and seeds > 2:
        entries.append((Patch(facecolor=NEUTRAL, alpha=0.2, lw=0), HALF))
    if any(middle(members).t_grok for members in arms.values()):
        dot = Line2D([], [], color=NEUTRAL, ls="", marker="o", mec="white", mew=0.6)
        entries.append((dot, "middle seed groks" if seeds > 1 else "grokking"))
    return entries


def overlay_panels(
    runs: Sequence[RunCurves],
    rows: Mapping[str, str],
    *,
    heights: Sequence[float] = (),
    log: bool | Collection[str] = False,
    from_zero: bool = False,
    limits: Mapping[str, tuple[float, float]] | None = None,
    apart: bool = False,
) -> tuple[Figure, Panels]:
    """Metrics of several arms below each other; many arms are spread over small multiples (see `facets`) on the same axes.

    rows        label of the axis by column
    heights     of the rows, in inches
    log         a log scale for the values; or the columns that have one
    from_zero   axes that begin at 0
    limits      of the values, by column: known before lines are named at their ends
    apart       a panel for each arm, with the medians of the others in grey
    """
    names = list(by_arm(runs))
    parts = [Facet(name, [name], []) for name in names] if apart else facets(names)
    tall = heights or [2.0 if len(rows) == 1 else 1.3] * len(rows)
    titles = [part.title for part in parts] if len(parts) > 1 else [""]
    figure, axes = panels(runs, dict(zip(rows.values(), tall, strict=True)), titles)
    for place, part in enumerate(parts):
        own = [run for run in runs if run.arm in part.arms]
        axes[0, place].set_title(axes[0, place].get_title(loc="left"), pad=5)  # there is no subtitle
        for ax, column in zip(axes[:, place], rows, strict=True):
            overlay(ax, own, column, arm_looks(part.arms), spread="half" if apart else None)
            for name, members in by_arm(runs).items() if apart else ():
                if name not in part.arms:
                    draw_seeds(ax, members, column, OTHER_ARMS, name, spread="none", lw=0.8)
    for ax, column in zip(axes[:, 0], rows, strict=True):
        if log is True or (log and column in log):
            log_values(ax)
        elif from_zero:
            ax.set_ylim(bottom=0)
        if column in (limits or {}):
            ax.set_ylim(*(limits or {})[column])
    name_arms(figure, axes, runs, parts)
    return figure, axes


def name_arms(figure: Figure, axes: Panels, runs: Sequence[RunCurves], parts: Sequence[Facet]) -> None:
    """Say which arm is which: at the ends of the lines if they fit, else in a legend outside the panels; a sequence of many arms,
    or of one panel among several, in a colour bar; panels of one arm each by their titles."""
    looks: dict[str, Look] = {}
    barred = False
    for place, part in enumerate(parts):
        own = arm_looks(part.arms)
        if part.sequence and (len(part.sequence) > MOST_NAMED or len(parts) > 1):
            barred = True
            column = axes[:, place]
            shown = list(column) if len(parts) == 1 else [column[-1]]
            _sequence_bar(figure, shown, {name: own[name] for name in part.sequence}, beside=len(parts) == 1)
            own = {name: look for name, look in own.items() if name not in part.sequence}
        if len(parts) == 1 or len(part.arms) > 1:
            looks |= {part.label(name): look for name, look in own.items() if part.label(name) not in looks}
    greyed = any(line.get_color() == OTHER_ARMS for line in axes[0, 0].get_lines())
    entries = overlay_entries(runs, looks, 2 if greyed else max(len(part.arms) for part in parts))
    if greyed:
        entries.append((Line2D([], [], color=OTHER_ARMS, lw=0.8), "the other arms, medians"))
    if len(parts) == 1:
        figure.set_figwidth((0.85 if barred else 0.75) * PAGE_WIDTH)
        few = 1 < len(looks) <= (MOST_NAMED if len(axes) == 1 else MOST_LABELLED) and not barred
        if few and any(_label_ends(figure, ax, runs, looks) for ax in reversed(axes[:, 0])):
            entries, barred = entries[len(looks) :], True  # names take the place beside the panels
    if entries:
        (legend_beside if len(parts) == 1 and not barred else legend)(figure, entries)


def _sequence_bar(figure: Figure, axes: Sequence[Axes], looks: Mapping[str, Look], *, beside: bool) -> None:
    """A colour bar with a step for each arm of a sequence."""
    group, colours = list(looks), [look.colour for look in looks.values()]
    steps = ScalarMappable(BoundaryNorm(np.arange(len(group) + 1), len(group)), ListedColormap(colours))
    bar = figure.colorbar(steps, ax=axes, pad=0.02, fraction=0.05, location="right" if beside else "bottom", aspect=30)
    bar.set_ticks(
        [place + 0.5 for place in range(len(group))],
        labels=["all" if math.isinf(value) else short_number(value) for value in values(group)],
    )
    bar.ax.tick_params(length=0, which="both")
    bar.outline.set_visible(False)
    if beside:  # elsewhere the title of the panel says so
        bar.set_label(common_name(group).removesuffix("…").removesuffix("= ").strip())


def _label_ends(figure: Figure, ax: Axes, runs: Sequence[RunCurves], looks: Mapping[str, Look]) -> bool:
    """Write the name of each arm at the end of its line; False, and nothing written, where lines end early or close together."""
    ends = []
    for name, members in by_arm(runs).items():
        lines = [line for line in ax.get_lines() if line.get_label() == name]
        if not lines or not len(members):
            return False
        x, y = (np.asarray(side, dtype=np.float64) for side in lines[0].get_data())
        finite = np.isfinite(x) & np.isfinite(y)
        if not finite.any():
            return False
        across, up = ax.transAxes.inverted().transform(ax.transData.transform((x[finite][-1], y[finite][-1])))
        ends.append((float(up), float(across), name))
    ends.sort()
    box = ax.get_subplotspec().get_position(figure)  # type: ignore[union-attr]
    line = 1.3 * SMALL / 72 / (0.75 * figure.get_figheight() * box.height / 0.77)
    labels = {name: wrapped(name, 22) for name in looks}
    tall = [line * (1 + labels[name].count("\n")) for *_, name in ends]
    apart = all(b[0] - a[0] >= (p + q) / 2 for a, b, p, q in zip(ends, ends[1:], tall, tall[1:], strict=False))
    if not apart or min(across for _, across, _ in ends) < 0.9:
        return False
    for up, _, name in ends:
        ax.text(
            1.02, up, labels[name], color=looks[name].colour, transform=ax.transAxes, va="center", size=SMALL, gid=END
        )
    return True
