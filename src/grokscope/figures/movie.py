"""A run as a movie, from memorising to grokking: accuracies, where attention goes, embeddings in their Fourier plane."""

from __future__ import annotations

import io
import math
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..errors import ConfigError
from ..store import check_writable, save_file
from .attention import INFORMATIVE_COLOURS
from .data import RunCurves, short_position
from .embedding import draw_plane, reach
from .panels import all_epochs, log_epochs
from .style import PAGE_WIDTH, SMALL, TEST_COLOUR, TRAIN_COLOUR, TRAIN_DASHES, our_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from PIL.Image import Image

SECONDS = 6.0
"""Length of the movie; its last frame stays two seconds longer."""
SLOWEST = 0.3
"""Longest time of a frame, in seconds: few checkpoints make a short movie."""
DOTS = 150
"""Dots per inch."""
DISTRACTOR = "#BDBDBD"
APART = 0.3
"""Difference of the accuracies on the plateau from which the names of the curves fit between them."""


def frames(
    run: RunCurves, attention: pd.DataFrame | None, embedding: pd.DataFrame | None, most: int = 64
) -> list[Image]:
    """A picture for every checkpoint, of at most so many.

    attention   table of the probe `attention-map`, if the run has attention
    embedding   table of the probe `embedding`, if its task is modular
    """
    from PIL import Image

    tables = [table for table in (attention, embedding) if table is not None and not table.empty]
    if not tables:
        raise ConfigError(
            "movie", "the run has no attention and no modular task: there is nothing to show but its curves"
        )
    epochs = sorted(set.intersection(*(set(table["epoch"]) for table in tables)))
    if len(epochs) < 3:
        raise ConfigError(
            "movie", f"the run has {len(epochs)} checkpoints: train it with log.keep, e.g. --set log.keep=25"
        )
    epochs = [epochs[round(place)] for place in np.linspace(0, len(epochs) - 1, min(most, len(epochs)))]
    plane = None if embedding is None else embedding[embedding["frequency"] == embedding["frequency"].iloc[0]]
    pictures = []
    with our_style(), mpl.rc_context({"figure.constrained_layout.use": False}):
        panels = 1 + (attention is not None) + (plane is not None)
        # laid out once and for all: a panel must not move from frame to frame
        figure = Figure(figsize=(PAGE_WIDTH * panels / 3, 2.3), dpi=DOTS)
        figure.subplots_adjust(left=0.21 / panels, right=0.985, bottom=0.2, top=0.87, wspace=0.28)
        axes = list(figure.subplots(1, panels, width_ratios=[1.35, *[1.0] * (panels - 1)], squeeze=False)[0])
        canvas = FigureCanvasAgg(figure)
        for epoch in epochs:
            for ax in axes:
                ax.clear()
            left = iter(axes)
            _draw_accuracy(next(left), run, epoch)
            if attention is not None:
                _draw_attention(next(left), run, attention[attention["epoch"] == epoch])
            if plane is not None:
                draw_plane(next(left), plane[plane["epoch"] == epoch], reach(plane))
            canvas.draw()
            pictures.append(Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB"))
    return pictures


def _draw_accuracy(ax: Axes, run: RunCurves, epoch: int) -> None:
    first, last = all_epochs([run])
    log_epochs(ax, first, last)
    plateau = math.sqrt((run.t_mem or first) * (run.t_grok or last))
    heights = {}
    for column, colour, dashes, name in (
        ("train_accuracy", TRAIN_COLOUR, TRAIN_DASHES, "training"),
        ("test_accuracy", TEST_COLOUR, "-", "test"),
    ):
        epochs, values = run.series(column)
        ax.plot(epochs, values, color=colour, ls=dashes, lw=0.8, alpha=0.25)
        past = epochs <= max(epoch, 1)
        ax.plot(epochs[past], values[past], color=colour, ls=dashes, lw=1.6, label=name)
        heights[name] = float(np.interp(plateau, epochs, np.nan_to_num(values)))
    if heights["training"] - heights["test"] >= APART:
        ax.text(plateau, heights["training"] - 0.03, "training", color=TRAIN_COLOUR, size=SMALL, ha="center", va="top")
        ax.text(plateau, heights["test"] + 0.03, "test", color=TEST_COLOUR, size=SMALL, ha="center", va="bottom")
    else:  # without a plateau, as in a ticket, names at the curves would lie on them and on each other
        ax.legend(loc="upper left", fontsize=SMALL, frameon=False)
    ax.axvline(max(epoch, 1), color="black", lw=0.7)
    ax.set_ylim(-0.02, 1.03)
    ax.set(xlabel="epoch", ylabel="accuracy (fraction)" if run.score == "accuracy" else run.score)
    ax.set_title(f"{run.arm}, epoch {epoch:,}" if run.arm else f"epoch {epoch:,}", loc="left")


def _draw_attention(ax: Axes, run: RunCurves, own: pd.DataFrame) -> None:
    masses = own.groupby("position")["mass"].mean()
    informative = [place + len(masses) - len(run.positions) for place in run.informative]
    colours = [
        INFORMATIVE_COLOURS[informative.index(j) % len(INFORMATIVE_COLOURS)] if j in informative else DISTRACTOR
        for j in masses.index
    ]
    ax.bar(masses.index, masses, color=colours)
    ax.set_ylim(0, 1)
    named = len(run.positions) == len(masses) <= 6
    short = [short_position(name) for name in run.positions] if named else masses.index.tolist()
    step = 1 + len(masses) // 8
    ax.set_xticks(masses.index[::step], short[::step])
    ax.set_xlabel("position")
    ax.set_title("attention", loc="left")
    ax.grid(axis="x", visible=False)


def check_ending(path: Path) -> str:
    """gif, webp or mp4; ConfigError for another ending, or without the program that it needs."""
    ending = path.suffix.lower().lstrip(".")
    if ending not in ("gif", "webp", "mp4"):
        raise ConfigError("movie", f"{path.name}: a movie ends in .gif, .webp or .mp4")
    if ending == "mp4" and shutil.which("ffmpeg") is None:
        raise ConfigError(
            "movie", "an .mp4 needs the program ffmpeg, which is not installed; .gif and .webp need nothing"
        )
    return ending


def save_movie(pictures: Sequence[Image], path: Path) -> Path:
    """Write the frames as GIF, animated WebP or MP4, by the ending of the path."""
    ending = check_ending(path)
    check_writable(path.parent)
    return _save_mp4(pictures, path) if ending == "mp4" else save_file(path, animated(pictures, ending))


def animated(pictures: Sequence[Image], kind: str) -> bytes:
    """The frames as the bytes of an animated GIF or WebP; it plays three times and stays on its last frame."""
    each = _milliseconds(len(pictures))
    buffer = io.BytesIO()
    how = {"quality": 80, "method": 4} if kind == "webp" else {"optimize": True}
    first, *rest = pictures if kind == "webp" else [p.quantize(64) for p in pictures]
    first.save(
        buffer,
        format=kind.upper(),
        save_all=True,
        append_images=rest,
        duration=[*[each] * (len(pictures) - 1), each + 2000],
        loop=3,
        **how,
    )
    return buffer.getvalue()


def _milliseconds(count: int) -> int:
    return max(20, round(1000 * min(SLOWEST, SECONDS / count)))


def _save_mp4(pictures: Sequence[Image], path: Path) -> Path:
    width, height = (side - side % 2 for side in pictures[0].size)
    rate = 1000 / _milliseconds(len(pictures))
    command = [
        *("ffmpeg", "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"),
        *("-r", f"{rate:g}", "-i", "-", "-pix_fmt", "yuv420p", str(path)),
    ]
    raw = b"".join(picture.crop((0, 0, width, height)).tobytes() for picture in pictures)
    done = subprocess.run(command, input=raw, capture_output=True, check=False)
    if done.returncode:
        raise ConfigError("movie", f"ffmpeg failed: {done.stderr.decode(errors='replace').strip()[:200]}")
    return path
