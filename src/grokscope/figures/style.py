"""The one style of all figures: how an arm is drawn, and how a figure becomes a file.

What each colour means is in `meanings.py`; fonts and sizes are in `grokscope.mplstyle`.
Figures are made without pyplot, so drawing needs no display and leaves no global state behind.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, ParamSpec

import matplotlib as mpl
import matplotlib.style
from matplotlib.figure import Figure

from ..store import save_file
from .meanings import MEANINGS, OTHERS, Dashes, Look, Meaning, meaning_of, meant_by_settings
from .sequences import sequences

__all__ = [
    "COLUMN_WIDTH",
    "MEANINGS",
    "NEUTRAL",
    "OTHERS",
    "PAGE_WIDTH",
    "PHASE_COLOURS",
    "SEQUENTIAL",
    "SMALL",
    "TEST_COLOUR",
    "TRAIN_COLOUR",
    "TRAIN_DASHES",
    "Dashes",
    "Look",
    "Meaning",
    "arm_colours",
    "arm_looks",
    "dark_sequence",
    "meaning_of",
    "our_style",
    "plain_looks",
    "same_looks",
    "save",
    "sequential_colours",
    "styled",
    "to_file",
    "to_png",
    "to_svg",
]

P = ParamSpec("P")

PAGE_WIDTH = 7.0
"""Width of a two-column page, in inches: no figure is wider, so no font is scaled below 7 pt in print."""
COLUMN_WIDTH = 3.4
"""Width of one column, in inches."""
SMALL = 7.0
"""The smallest font size, in points."""
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
_SHARED: ContextVar[Mapping[str, Look]] = ContextVar("looks that several figures share", default=MappingProxyType({}))
PHASE_COLOURS = ("#CFE0F2", "#FBE3B4", "#E6CDE6", "#C5E8CF", "#E0E0E0", "#F7CFC4")


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


@contextmanager
def same_looks(arms: Sequence[str], meanings: Mapping[str, str] | None = None) -> Iterator[None]:
    """Every figure drawn within gives each of these arms the same colour, whichever of them it shows.

    meanings   those that the settings of an arm tell, by arm
    """
    with meant_by_settings(meanings or {}):
        token = _SHARED.set({})  # those of an outer one have no part in them
        try:
            _SHARED.set(arm_looks(arms))
            yield
        finally:
            _SHARED.reset(token)


def arm_looks(names: Sequence[str], *, ordered: bool = False) -> dict[str, Look]:
    """How each arm is drawn: by its meaning, else by its place in a sequence, else in the remaining colours in order.

    Arms that share a colour, and sequences, differ in their dashes. Colours are those of all figures drawn within `same_looks`.

    ordered   colour all arms in their order, as one sequence
    """
    names = list(dict.fromkeys(names))
    given = {} if ordered else _SHARED.get()
    meant = {name: found.look for name in names if not ordered and (found := meaning_of(name))}
    looks = dict(meant)
    groups = [names] if ordered else sequences([name for name in names if name not in meant])
    for place, group in enumerate(groups):
        own = Look("", REPEATS[place % len(REPEATS)], MARKERS[place % len(MARKERS)])
        colours = _in_order([given[name].colour for name in group if name in given], len(group))
        looks |= {name: own._replace(colour=colour) for name, colour in zip(group, colours, strict=True)}
    rest = [name for name in names if name not in looks]
    if len(names) == len(rest) == 1 and rest[0] not in given:  # nothing to tell apart
        return {rest[0]: MEANINGS["baseline"].look}
    taken = {look.colour for look in given.values()}
    free = [colour for colour in OTHERS if colour not in taken] or OTHERS
    new = [name for name in rest if name not in given]
    looks |= {name: given[name] for name in rest if name in given}
    looks |= {name: _other(free[place % len(free)]) for place, name in enumerate(new)}
    shared: Counter[str] = Counter()
    for name in [*meant, *rest]:
        look = looks[name]
        if count := shared[look.colour]:
            looks[name] = look._replace(dashes=_dashes(look.dashes, count))
        shared[look.colour] += 1
    return {name: looks[name] for name in names}


def _in_order(given: list[str], count: int) -> list[str]:
    """The given colours if they get darker from arm to arm, else those of a sequence of its own: an arm in a cross of two settings
    belongs to two."""
    light = [sum(mpl.colors.to_rgb(colour)) for colour in given]
    kept = len(given) == count and all(a > b for a, b in pairwise(light))
    return given if kept else sequential_colours(count)


def _other(colour: str) -> Look:
    """How an arm without a meaning is drawn in this colour."""
    place = OTHERS.index(colour)
    return Look(colour, REPEATS[place % len(REPEATS)], MARKERS[place % len(MARKERS)])


def _dashes(first: Dashes, count: int) -> Dashes:
    """The dashes of the count-th arm that shares a colour with one drawn in `first`."""
    others = [dashes for dashes in REPEATS if dashes != first]
    return others[(count - 1) % len(others)]


def plain_looks(names: Sequence[str]) -> dict[str, Look]:
    """As `arm_looks`, but solid; dashes only from the second arm of a colour on, in the same order for every colour."""
    count: Counter[str] = Counter()
    looks = {}
    for arm, look in arm_looks(names).items():
        looks[arm] = look._replace(dashes=REPEATS[count[look.colour] % len(REPEATS)])
        count[look.colour] += 1
    return looks


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
