"""The pictures of experiments, drawn from stored results."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from matplotlib.text import Text

from ..errors import StoreError
from ..figures import figures, save
from ..figures.panels import wrapped
from ..figures.parallel import executor_for
from ..figures.registry import FigureSpec, summary
from ..figures.style import SMALL
from ..store.results import Results
from . import diverged
from .base import Experiment
from .collect import curves_from
from .looks import looks_of, without_part

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..figures import RunCurves
    from ..figures.registry import Draw


class Drawing(NamedTuple):
    """Which pictures were written."""

    paths: list[Path]
    """Without the endings .svg and .png."""
    failures: dict[str, str]
    """What went wrong, by picture."""


def draw(wanted: Iterable[tuple[Experiment, Results, Path]]) -> Drawing:
    """Write the pictures of experiments as SVG and PNG into the folder of each. One that fails does not stop the others."""
    asked = list(wanted)
    drawing = Drawing([], {})
    with executor_for(sum(len(experiment.pictures) for experiment, *_ in asked)) as executor:
        begun = {
            (stem := folder / f"{experiment.name}-{drawn.file}"): executor.submit(_save, drawn.figure, stem)
            for experiment, results, folder in asked
            for drawn in drawn_pictures(experiment, results, drawing.failures)
        }
        for stem, picture in begun.items():
            if problem := picture.result():
                drawing.failures[stem.name] = problem
            else:
                drawing.paths.append(stem)
    return drawing


def _save(figure: Figure, stem: Path) -> str:
    """Write a figure; returns what went wrong, if anything did. An error of the disk is raised: it concerns every picture."""
    try:
        save(figure, stem)
    except StoreError:
        raise
    except Exception as error:  # matplotlib lays out and draws only now
        return _words(error)
    return ""


def _words(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


class DrawnPicture(NamedTuple):
    """One picture of an experiment."""

    name: str
    title: str
    """What kind of picture it is."""
    figure: Figure
    caption: str
    """What it shows."""
    part: str = ""
    """Of which part of the arms, if not of all."""
    kind: str = ""
    """Name of the registered figure; empty if it is none."""
    curves: Sequence[RunCurves] = ()
    """What it is drawn from, unless from the results as a whole."""

    @property
    def file(self) -> str:
        """times of the part q = 16 → times-q-16"""
        return "-".join([self.name, *re.findall(r"\w+", self.part)])


def drawn_pictures(
    experiment: Experiment, results: Results, failures: dict[str, str] | None = None
) -> Iterator[DrawnPicture]:
    """Every picture of an experiment; what is drawn from runs, for each of its parts.

    failures   receives what went wrong with a picture, by name, and the others are drawn; without it the error is raised
    """
    curves, note, lost = curves_from(results), diverged.note(results), diverged.seeds_by_arm(results.runs)
    titles = _titles(experiment)
    for name, picture in experiment.pictures.items():
        spec = _spec(picture)
        draw = figures.get(picture) if isinstance(picture, str) else picture
        caption = summary(getattr(draw, "func", draw))
        of_results = spec is not None and spec.takes == "results"
        data: dict[str, Any] = {"": results if of_results else curves}
        if experiment.parts and not of_results:
            data = {
                part: [replace(c, arm=c.arm.removeprefix(f"{part}, ")) for c in curves if of_part(c.arm, part)]
                for part in experiment.parts
            }
        for part, own in data.items():
            figure = None
            try:
                with looks_of(experiment, results):
                    figure = _drawn(draw, own, f"{experiment.name}: picture {name}", note) if own else None
                if figure is not None:
                    _say_diverged(figure, {arm: seeds for arm, seeds in lost.items() if of_part(arm, part)}, part)
            except Exception as error:
                if failures is None:
                    raise
                failures[f"{experiment.name}-{name}" + (f" ({part})" if part else "")] = _words(error)
            if figure is not None:
                noted = f"{caption} {note[0].upper()}{note[1:]}." if note else caption
                kind = spec.name if spec else ""
                yield DrawnPicture(name, titles[name], figure, noted, part, kind, () if of_results else own)


def of_part(arm: str, part: str) -> bool:
    """Whether an arm belongs to a part of the arms; to "", which is all of them, every arm does."""
    return not part or arm.startswith(f"{part}, ")


def stored_metrics(experiment: Experiment) -> set[str]:
    """Metrics whose curves its results store besides those of every experiment: what it names, and what its pictures need."""
    specs = [_spec(picture) for picture in experiment.pictures.values()]
    return {*experiment.curves, *(name for spec in specs if spec and spec.takes == "runs" for name in spec.needs)}


def _spec(picture: str | Draw) -> FigureSpec | None:
    return figures.spec(picture) if isinstance(picture, str) else figures.spec_of(picture)


def _titles(experiment: Experiment) -> dict[str, str]:
    """The title of each picture: of its figure, with what its own name says beyond that of others where several of the experiment
    have the same; its own name if the figure is not registered."""
    specs = {name: _spec(picture) for name, picture in experiment.pictures.items()}
    titles = {name: spec.title if spec else _in_words(name).capitalize() for name, spec in specs.items()}
    found = {}
    for name, title in titles.items():
        alike = [other for other in titles if titles[other] == title]
        first = min(alike, key=len)
        more = name.removeprefix(first).strip("-") if all(other.startswith(first) for other in alike) else name
        found[name] = f"{title}: {_in_words(more)}" if len(alike) > 1 and more else title
    return found


def _in_words(name: str) -> str:
    """ratio-with-rms-norm → ratio with RMS norm"""
    return " ".join({"rms": "RMS"}.get(word, word) for word in name.split("-"))


def _drawn(draw: Callable[[Any], Figure], data: Any, name: str, note: str) -> Figure | None:
    """The figure; None, and a line on stderr, where diverged runs leave nothing to draw."""
    try:
        return draw(data)
    except Exception as error:  # as for rules
        if not note:
            raise
        print(f"{name} was not drawn ({type(error).__name__}); {note}", file=sys.stderr)
        return None


def _say_diverged(figure: Figure, lost: Mapping[str, str], part: str) -> None:
    """A line about the diverged runs of those arms that the picture names."""
    shown = " ".join(" ".join(text.get_text().split()) for text in figure.findobj(Text))
    named = {without_part(arm, [part]): seeds for arm, seeds in lost.items()}
    if own := [f"{arm} ({seeds})" for arm, seeds in named.items() if arm.split(", ")[-1] in shown]:
        add_note(figure, f"{diverged.COUNTED}: {', '.join(own)}")


LETTERS = 17
"""Letters of a note that fit into an inch."""


def add_note(figure: Figure, text: str) -> None:
    """A line in a strip of its own above the panels, broken where the figure ends."""
    width, height = figure.get_size_inches()
    text = wrapped(text, int(LETTERS * width))
    taller = height + (1 + text.count("\n")) * 1.5 * SMALL / 72
    figure.set_size_inches(width, taller)
    if engine := figure.get_layout_engine():
        engine.set(rect=(0, 0, 1, height / taller))  # type: ignore[call-arg]
    figure.text(0.01, 0.995, text, size=SMALL, va="top", gid="diverged")
