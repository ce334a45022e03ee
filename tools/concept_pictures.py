"""The pictures of docs/concepts, from the small tables beside them: `python -m tools.concept_pictures`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from grokscope.analysis import Criterion, find_phases, kaplan_meier, run_times, sample
from grokscope.figures import to_svg
from grokscope.figures.style import (
    MEANINGS,
    PAGE_WIDTH,
    PHASE_COLOURS,
    SMALL,
    TEST_COLOUR,
    TRAIN_COLOUR,
    TRAIN_DASHES,
    styled,
)
from grokscope.store import save_file

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "concepts"
TEST, OTHER = TEST_COLOUR, MEANINGS["wrong prior"].look.colour
ORACLE, ATTENTION = (MEANINGS[name].look.colour for name in ("oracle prior", "attention"))
LANES = 3


def curves() -> pd.DataFrame:
    return pd.read_csv(FOLDER / "run.csv")


def seeds() -> pd.DataFrame:
    return pd.read_csv(FOLDER / "times.csv")


@styled
def divergence() -> Figure:
    """Attention over the five tokens at three epochs, with D of each."""
    table = curves()
    times = run_times(table)
    assert times.t_mem is not None and times.t_grok is not None
    epochs = (0, (times.t_mem + times.t_grok) // 2, int(table["epoch"].iloc[-1]))
    figure = Figure(figsize=(PAGE_WIDTH, 2.1))
    axes = figure.subplots(1, 3, sharey=True)
    for ax, epoch, when in zip(axes, epochs, ("untrained", "memorised", "grokked"), strict=True):
        row = table.iloc[(table["epoch"] - epoch).abs().argmin()]
        ax.bar(range(5), [row[f"attention_{j}"] for j in range(5)], color=[TEST, TEST, *["#BBBBBB"] * 3])
        ax.plot([-0.4, 1.4], [0.5, 0.5], color=ORACLE, lw=1.5)
        ax.set_xticks(range(5), ["a", "b", "?", "?", "="])
        ax.set_title(f"{when}: D = {row['D']:.2f}")
        ax.set_xlabel(f"epoch {row['epoch']:,.0f}")
        ax.grid(axis="x", visible=False)
    axes[0].set_ylabel("attention (mean over inputs)")
    axes[0].text(1.5, 0.5, " oracle α*", color=ORACLE, size=SMALL, va="center")
    return figure


@styled
def times() -> Figure:
    """Train and test accuracy of one run, with t_mem, t_grok and the wait between them."""
    table = curves()
    found = run_times(table)
    assert found.t_mem is not None and found.t_grok is not None
    figure = Figure(figsize=(PAGE_WIDTH, 2.4))
    ax = figure.subplots()
    shown = table[table["epoch"] > 0]
    ax.plot(shown["epoch"], shown["train_accuracy"], color=TRAIN_COLOUR, ls=TRAIN_DASHES)
    ax.plot(shown["epoch"], shown["test_accuracy"], color=TEST)
    _log_epochs(ax)
    for name, at in (("t_mem", found.t_mem), ("t_grok", found.t_grok)):
        ax.axvline(at, color="black", lw=0.8, ls="--")
        ax.text(at, 1.04, f"{name} = {at:,}", ha="center", va="bottom", size=SMALL, transform=ax.get_xaxis_transform())
    ax.annotate("", (found.t_grok, 0.5), (found.t_mem, 0.5), arrowprops={"arrowstyle": "<->", "lw": 0.9})
    middle = float(np.sqrt(found.t_mem * found.t_grok))
    ax.text(middle, 0.53, f"the wait: {found.t_grok - found.t_mem:,} epochs", ha="center", size=SMALL)
    ax.text(12, 0.24, "train accuracy", color=TRAIN_COLOUR, size=SMALL, ha="left")
    ax.text(found.t_mem * 1.15, 0.12, "test accuracy", color=TEST, size=SMALL)
    ax.set(ylabel="accuracy", ylim=(0, 1.02))
    return figure


def touches_and_falls() -> pd.DataFrame:
    """An accuracy, made up, that reaches 99 % and loses it twice before it stays."""
    epoch = np.arange(0, 1001, 5)
    accuracy = 0.2 + 0.8 / (1 + np.exp(-(epoch - 250) / 18))
    for centre, width, depth in ((405, 18, 0.3), (690, 24, 0.2)):
        accuracy -= depth * np.exp(-(((epoch - centre) / width) ** 2))
    return pd.DataFrame({"epoch": epoch, "accuracy": accuracy})


@styled
def clocks() -> Figure:
    """The three clocks on an accuracy that touches the threshold and falls back."""
    table = touches_and_falls()
    figure = Figure(figsize=(PAGE_WIDTH, 2.4))
    ax = figure.subplots()
    ax.plot(table["epoch"], table["accuracy"], color=TEST)
    ax.axhline(0.99, color=TRAIN_COLOUR, lw=0.8, ls=":")
    ax.text(5, 0.985, "99 %", size=SMALL, va="top", color=TRAIN_COLOUR)
    for clock, height in (("first", 0.3), ("held", 0.42), ("stable", 0.54)):
        at = Criterion(clock=clock).time(table["epoch"], table["accuracy"])  # type: ignore[arg-type]
        assert at is not None
        ax.axvline(at, color="black", lw=0.8, ls="--")
        ax.text(at + 8, height, f"{clock}: {at}", size=SMALL)
    ax.set(xlabel="epoch", ylabel="test accuracy", ylim=(0.15, 1.05), xlim=(0, 1000))
    return figure


@styled
def phases() -> Figure:
    """The gradient that reaches attention, with the phases that the rule finds."""
    table = curves()
    table = table[table["epoch"] > 0]
    found = find_phases(table)
    figure = Figure(figsize=(PAGE_WIDTH, 2.9))
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.plot(table["epoch"], table["train_accuracy"], color=TRAIN_COLOUR, ls=TRAIN_DASHES)
    upper.plot(table["epoch"], table["test_accuracy"], color=TEST)
    upper.set(ylabel="accuracy", ylim=(0, 1.02))
    lower.plot(table["epoch"], table["grad_M"], color=ATTENTION, lw=1)
    lower.set(yscale="log", ylabel="gradient on M")
    _log_epochs(lower)
    names = ("memorisation", "plateau", "resurgence", "grokking")
    for span in found.borders:
        left = max(span.start, table["epoch"].iloc[0])
        for ax in (upper, lower):
            ax.axvspan(left, span.end, color=PHASE_COLOURS[names.index(span.name)], alpha=0.6, lw=0, zorder=0)
        where = (float(np.sqrt(left * span.end)), 1.05)
        number = names.index(span.name) + 1
        upper.text(*where, f"{number} {span.name}", ha="center", size=SMALL, transform=upper.get_xaxis_transform())
    return figure


@styled
def censoring() -> Figure:
    """Twelve seeds of which some have not grokked: what is known of each, and the Kaplan–Meier estimate."""
    table = seeds().sort_values(["t_grok", "last_epoch"]).reset_index(drop=True)
    figure = Figure(figsize=(PAGE_WIDTH, 2.6))
    left, right = figure.subplots(1, 2)
    last = int(table["last_epoch"].max())
    for place, row in table.iterrows():
        grokked = pd.notna(row["t_grok"])
        end = row["t_grok"] if grokked else row["last_epoch"]
        left.plot([0, end], [place, place], color=TEST if grokked else "#BBBBBB", lw=3)
        left.plot(end, place, "o" if grokked else ">", color=TEST if grokked else "#888888", ms=5)
    left.set(yticks=[], xlabel="epoch", ylabel="seeds", xlim=(0, last * 1.08))
    left.set_title("● grokked   ▶ censored: not yet")
    runs = sample(table["t_grok"].to_numpy(dtype=float), table["last_epoch"].to_numpy(dtype=float))
    curve = kaplan_meier(runs)
    steps = np.concatenate([[0], curve.time]), np.concatenate([[1], curve.survival])
    right.step(*steps, where="post", color=TEST)
    right.fill_between(curve.time, curve.lower, curve.upper, step="post", color=TEST, alpha=0.15, lw=0)
    right.axhline(0.5, color=TRAIN_COLOUR, lw=0.8, ls=":")
    of_grokked, median = float(table["t_grok"].median()), curve.median.value
    assert median is not None
    for at, text, colour, height in (
        (of_grokked, f"median of those\nthat grokked: {of_grokked:,.0f}", OTHER, 0.1),
        (median, f"median of all,\nby Kaplan–Meier: {median:,.0f}", TEST, 0.25),
    ):
        right.axvline(at, color=colour, lw=1, ls="--")
        right.text(at - 0.015 * last, height, text, size=SMALL, color=colour, ha="right")
    right.set(xlabel="epoch", ylabel="share not yet grokked", ylim=(0, 1.02), xlim=(0, last * 1.03))
    return figure


def packed(lengths: Sequence[float], lanes: int) -> list[tuple[int, float]]:
    """Lane and start of each run: a waiting run takes the lane that is free first."""
    free = [0.0] * lanes
    placed = []
    for length in lengths:
        lane = int(np.argmin(free))
        placed.append((lane, free[lane]))
        free[lane] += length
    return placed


@styled
def lanes() -> Figure:
    """Twelve runs in three lanes."""
    lengths = seeds()["last_epoch"].to_numpy(dtype=float)
    figure = Figure(figsize=(PAGE_WIDTH, 1.7))
    ax = figure.subplots()
    for number, ((lane, start), length) in enumerate(zip(packed(lengths, LANES), lengths, strict=True)):
        ax.barh(lane, length - 12, left=start, height=0.72, color=TEST if number < LANES else "#56B4E9")
        colour = "white" if number < LANES else "black"
        ax.text(start + length / 2, lane, f"seed {number}", ha="center", va="center", size=SMALL, color=colour)
    ax.set(
        yticks=range(LANES), yticklabels=[f"lane {i + 1}" for i in range(LANES)], xlabel="epochs trained in the lane"
    )
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "divergence": divergence,
    "times": times,
    "clocks": clocks,
    "phases": phases,
    "censoring": censoring,
    "lanes": lanes,
}


def _log_epochs(ax: Axes) -> None:
    ax.set(xscale="log", xlabel="epoch", xlim=(5, None))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def main() -> int:
    for name, draw in PICTURES.items():
        save_file(FOLDER / f"{name}.svg", to_svg(draw()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
