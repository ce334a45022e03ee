"""The one style of all figures: what each colour means, and how a figure becomes a file.

Colours: Okabe and Ito (2008) and Tol's muted scheme, safe for colour-blind readers; fonts and sizes are in `grokscope.mplstyle`.
Figures are made without pyplot, so drawing needs no display and leaves no global state behind.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec

import matplotlib as mpl
import matplotlib.style
from matplotlib.figure import Figure

from ..store import save_file
from .sequences import sequences

P = ParamSpec("P")

PAGE_WIDTH = 7.0
"""Width of a two-column page, in inches: no figure is wider, so no font is scaled below 7 pt in print."""
COLUMN_WIDTH = 3.4
"""Width of one column, in inches."""
SMALL = 7.0
"""The smallest font size, in points."""
Dashes = str | tuple[float, tuple[float, ...]]


class Look(NamedTuple):
    """How an arm is drawn."""

    colour: str
    dashes: Dashes = "-"
    marker: str = "o"


class Meaning(NamedTuple):
    """What a colour stands for, in every figure."""

    look: Look
    names: str
    """Arms with this meaning, or the parts of their names between commas; separated by semicolons."""


MEANINGS = {
    "baseline": Meaning(
        Look("#0072B2", "-", "o"),
        "no prior; dense; dense to the end; none; nothing; baseline; its baseline; all runs; as it was; checkpoint; "
        "AdamW; full batch; float32",
    ),
    "oracle prior": Meaning(
        Look("#009E73", (0, (6, 1.5)), "s"),
        "oracle; oracle prior; frozen oracle; KL prior; structure",
    ),
    "oracle prior and weight decay": Meaning(Look("#053300", "-", "D"), "oracle and decay"),
    "wrong prior": Meaning(
        Look("#D55E00", (0, (1.5, 1)), "v"), "adversarial; adversarial prior; wrong prior; adversarial and decay"
    ),
    "uniform": Meaning(
        Look("#E69F00", (0, (4, 1, 1, 1)), "D"), "uniform; uniform target; frozen uniform; uniform attention"
    ),
    "ticket": Meaning(
        Look("#CC79A7", (0, (6, 1.5)), "^"),
        "ticket; grokking ticket; whole ticket; lottery ticket; global ticket; layer-wise ticket; ticket to the end; "
        "ticket at grokking; ticket after 10,000 epochs",
    ),
    "L1 norm of the ticket": Meaning(Look("#A9AE69", (0, (3, 1)), "<"), "L1 norm"),
    "L2 norm of the ticket": Meaning(Look("#1F5F35", (0, (1.5, 1)), ">"), "L2 norm"),
    "random": Meaning(Look("#8C510A", (0, (1.5, 1)), "X"), "random; random ticket; random target"),
    "attention": Meaning(
        Look("#56B4E9", (0, (4, 1, 1, 1)), "P"),
        "attention; attention input; attention weights only; ticket of attention; routing ticket; Bayesian ticket; "
        "given attention; W_O",
    ),
    "query and key": Meaning(Look("#C32248", (0, (3, 1, 1, 1)), "<"), "query/key path; W_Q; W_K"),
    "value": Meaning(Look("#CDA9A2", (0, (3, 1)), ">"), "value path; W_V"),
    "MLP": Meaning(
        Look("#882255", (0, (3, 1)), "p"),
        "MLP; MLP input; MLP weights only; ticket of the MLP; given MLP; norm; W_in; W_out; W_1; W_2",
    ),
    "attention and MLP": Meaning(
        Look("#332288", (0, (6, 1, 1, 1)), "h"),
        "both; both inputs; LayerNorm at both inputs; ticket of attention and MLP",
    ),
}
"""The table of meanings: an arm that has one is drawn in its colour by every figure."""
OTHERS = ("#000000", "#9C55F6", "#067279", "#DA0BB8")
"""Colours of arms without a meaning, in order."""
REPEATS: tuple[Dashes, ...] = ("-", (0, (4, 1.5)), (0, (1.5, 1)), (0, (5, 1, 1, 1)))
"""Dashes of arms that share a colour, and of the sequences in one figure."""
MARKERS = "o^sDvPXp"
SEQUENTIAL = "magma_r"
"""The colour map of ordered quantities; none of its colours is close to blue, the baseline."""
RAMP = (0.2, 0.82)
"""The part of the map that lines use: lighter ones cannot be seen on white, darker ones look black."""
DARK_RAMP = (0.04, 0.58)
"""The part that takes its place on a dark screen."""
RAMP_STEPS = 48
"""Colours of a sequence are this many steps of the ramp, so that a page can replace each of them."""
TRAIN_COLOUR = "#666666"
TRAIN_DASHES: Dashes = (0, (4, 1.6))
TEST_COLOUR = MEANINGS["baseline"].look.colour
"""Test curves where there are no arms to tell apart."""
NEUTRAL = "#666666"
"""Legend entries that stand for all arms."""
PHASE_COLOURS = ("#CFE0F2", "#FBE3B4", "#E6CDE6", "#C5E8CF", "#E0E0E0", "#F7CFC4")
_MEANT = {name: meaning for meaning in MEANINGS.values() for name in meaning.names.split("; ")}


@contextmanager
def our_style() -> Iterator[None]:
    """Our style on top of matplotlib's defaults; the user's own matplotlibrc is ignored."""
    with as_file(files(__package__) / "grokscope.mplstyle") as path, mpl.style.context(path, after_reset=True):
        yield


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Run a drawing function in our style."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with our_style():
            return draw(*args, **kwargs)

    return drawn


def meaning_of(arm: str) -> Meaning | None:
    """The meaning of an arm: that of the last part of its name (between commas) that has one."""
    return next((_MEANT[part] for part in reversed(arm.split(", ")) if part in _MEANT), None)


def arm_looks(names: Sequence[str], *, ordered: bool = False) -> dict[str, Look]:
    """How each arm is drawn: by its meaning, else by its place in a sequence, else in the remaining colours in order.

    Arms that share a colour, and sequences, differ in their dashes.

    ordered   colour all arms in their order, as one sequence
    """
    names = list(dict.fromkeys(names))
    meant = {name: found.look for name in names if not ordered and (found := meaning_of(name))}
    looks = dict(meant)
    groups = [names] if ordered else sequences([name for name in names if name not in meant])
    for place, group in enumerate(groups):
        own = Look("", REPEATS[place % len(REPEATS)], MARKERS[place % len(MARKERS)])
        colours = sequential_colours(len(group))
        looks |= {name: own._replace(colour=colour) for name, colour in zip(group, colours, strict=True)}
    rest = [name for name in names if name not in looks]
    if len(names) == len(rest) == 1:  # nothing to tell apart
        return {rest[0]: MEANINGS["baseline"].look}
    for place, name in enumerate(rest):
        looks[name] = Look(OTHERS[place % len(OTHERS)], REPEATS[place % len(OTHERS)], MARKERS[place % len(MARKERS)])
    shared: Counter[str] = Counter()
    for name in [*meant, *rest]:
        look = looks[name]
        if count := shared[look.colour]:
            looks[name] = look._replace(dashes=_dashes(look.dashes, count))
        shared[look.colour] += 1
    return {name: looks[name] for name in names}


def _dashes(first: Dashes, count: int) -> Dashes:
    """The dashes of the count-th arm that shares a colour with one drawn in `first`."""
    others = [dashes for dashes in REPEATS if dashes != first]
    return others[(count - 1) % len(others)]


def arm_colours(names: Sequence[str], *, ordered: bool = False) -> dict[str, str]:
    """The colour of every arm, the same in every figure; see `arm_looks`."""
    return {name: look.colour for name, look in arm_looks(names, ordered=ordered).items()}


def sequential_colours(count: int) -> list[str]:
    """Colours of an ordered quantity, from the lightest to the darkest."""
    places = [place / max(count - 1, 1) for place in range(count)]
    if count <= RAMP_STEPS:
        places = [round(place * RAMP_STEPS) / RAMP_STEPS for place in places]
    return [_ramp_colour(place, RAMP) for place in places]


def _ramp_colour(place: float, part: tuple[float, float]) -> str:
    """The colour at a place from 0 to 1 of a part of the sequential map."""
    low, high = part
    return mpl.colors.to_hex(mpl.colormaps[SEQUENTIAL](low + (high - low) * place))


def dark_sequence() -> dict[str, str]:
    """What takes the place of each colour of a sequence on a dark screen, in the same order."""
    places = [step / RAMP_STEPS for step in range(RAMP_STEPS + 1)]
    return {_ramp_colour(place, RAMP): _ramp_colour(place, DARK_RAMP) for place in places}


def to_file(figure: Figure, kind: str, **how: Any) -> bytes:
    """The figure as the bytes of a file; its panels are laid out once, not again for every file."""
    buffer = io.BytesIO()
    with our_style(), mpl.rc_context({"figure.constrained_layout.use": False}):
        if (places := figure.get_layout_engine()) is not None:
            places.execute(figure)
            figure.set_layout_engine(None)
            # the solver's last digits are not the same every time, and clip paths are named after them
            for ax in figure.axes:
                left, bottom, width, height = (round(number, 6) for number in ax.get_position(original=True).bounds)
                ax.set_position((left, bottom, width, height))
        figure.savefig(buffer, format=kind, **how)
    return buffer.getvalue()


def to_svg(figure: Figure) -> str:
    """The figure as SVG text; the same figure gives the same text, with no date in it."""
    return to_file(figure, "svg", metadata={"Date": None, "Creator": None}).decode()


def to_png(figure: Figure) -> bytes:
    """The figure as PNG, 200 dots per inch."""
    return to_file(figure, "png", metadata={"Software": None})


def save(figure: Figure, stem: str | Path) -> tuple[Path, Path]:
    """Write `stem`.svg and `stem`.png, creating the folder if necessary; returns both paths."""
    stem = Path(stem)
    svg, png = (stem.with_name(f"{stem.name}.{ending}") for ending in ("svg", "png"))
    return save_file(svg, to_svg(figure)), save_file(png, to_png(figure))
