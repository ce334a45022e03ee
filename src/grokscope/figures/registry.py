"""The figures by name: `@figures.register(…)` on a drawing function puts it on report pages and into experiments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from matplotlib.figure import Figure

from ..registry import Registry, import_tree
from .data import RunCurves, recorded
from .style import styled

Draw = Callable[..., Figure]
PAPERS = "grokscope.papers"
"""Where further figures are; imported when one is asked for by name, not for a page of the standard ones."""


@dataclass(frozen=True, kw_only=True)
class FigureSpec:
    """A registered figure: the function that draws it, what it is drawn from, and how a page explains it."""

    name: str
    draw: Draw
    takes: Literal["runs", "results"]
    """What the function is given: a sequence of `RunCurves`, or the stored `Results` of an experiment."""
    needs: tuple[str, ...]
    """Metrics (of runs) or probes (of results) without which there is nothing to draw."""
    title: str
    """What it is, in a few words."""
    caption: str
    """What to look at."""
    shows: str
    """Opening of the alternative text: what kind of chart it is."""
    standard: bool
    """Whether every report page has it whose runs recorded what it needs."""
    order: int
    """Place among the standard figures of a page, smallest first."""

    def missing(self, runs: Sequence[RunCurves]) -> list[str]:
        """The metrics it needs that no run recorded."""
        return [column for column in self.needs if not recorded(runs, column)]

    def draw_page(self, runs: Sequence[RunCurves], medians: Mapping[str, float | None] | None) -> Figure:
        """The figure for a page; one that takes `medians` is given the median grokking time of each arm, if known."""
        if "medians" in inspect.signature(self.draw).parameters:
            return self.draw(runs, medians=medians)
        return self.draw(runs)


class FigureRegistry(Registry[Draw]):
    """The named figures: those of `grokscope.figures`, those of the papers, and those of files given to `--load`."""

    def __init__(self) -> None:
        super().__init__("figure", "grokscope.figures")
        self._specs: dict[str, FigureSpec] = {}

    def register(
        self,
        name: str,
        *,
        takes: Literal["runs", "results"] = "runs",
        needs: str | Sequence[str] = (),
        title: str = "",
        caption: str = "",
        shows: str = "",
        standard: bool | None = None,
        order: int = 100,
    ) -> Callable[[Draw], Draw]:
        """Register the decorated function, which draws in our style from then on.

        title      what it is; by default its name
        caption    what to look at, and `shows`, what kind of chart it is; by default what the docstring says first
        standard   whether it is on every report page; by default if it takes runs

        The other arguments are the fields of `FigureSpec`.
        """

        def add(function: Draw) -> Draw:
            draw = super(FigureRegistry, self).register(name)(styled(function))
            about = summary(function)
            self._specs[name] = FigureSpec(
                name=name,
                draw=draw,
                takes=takes,
                needs=(needs,) if isinstance(needs, str) else tuple(needs),
                title=title or name.replace("-", " ").capitalize(),
                caption=caption or about,
                shows=shows or about,
                standard=takes == "runs" if standard is None else standard,
                order=order,
            )
            return draw

        return add

    def entries(self) -> dict[str, Draw]:
        """All drawing functions by name, the papers' included."""
        super().entries()
        import_tree(PAPERS)
        return self._entries

    def get(self, name: Any) -> Draw:
        core = super().entries()
        return core[name] if name in core else super().get(name)

    def spec(self, name: str) -> FigureSpec:
        """A figure by name."""
        self.get(name)  # imports it, or says what the nearest name is
        return self._specs[name]

    def spec_of(self, draw: Draw) -> FigureSpec | None:
        """What is known of a drawing function, also with some of its arguments given; None if it is not registered."""
        while isinstance(draw, functools.partial):
            draw = draw.func
        return next((spec for spec in self._specs.values() if spec.draw is draw), None)

    def standard(self) -> list[FigureSpec]:
        """The figures of every report page, in their order; of equals the first registered comes first."""
        super().entries()
        return sorted((spec for spec in self._specs.values() if spec.standard), key=lambda spec: spec.order)


def summary(function: Callable[..., Any]) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())


figures = FigureRegistry()
