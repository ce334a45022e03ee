"""The registry of figures: `@figures.register(…)` makes a drawing function available to reports and experiments."""

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
"""Package with further figures; imported when a figure is looked up by name, not for the standard ones."""


@dataclass(frozen=True, kw_only=True)
class FigureSpec:
    """A registered figure: the function that draws it, what it is drawn from, and how a page explains it."""

    name: str
    draw: Draw
    takes: Literal["runs", "results"]
    """Argument of the function: a sequence of `RunCurves`, or the stored `Results` of an experiment."""
    needs: tuple[str, ...]
    """Required metrics (of runs) or probes (of results)."""
    title: str
    """What it is, in a few words."""
    caption: str
    """What to look at."""
    shows: str
    """Opening of the alternative text: what kind of chart it is."""
    standard: bool
    """Whether it is on every report page whose runs recorded its metrics."""
    order: int
    """Place among the standard figures of a page, smallest first."""

    def missing(self, runs: Sequence[RunCurves]) -> list[str]:
        """The metrics it needs that no run recorded."""
        return [column for column in self.needs if not recorded(runs, column)]

    def draw_page(self, runs: Sequence[RunCurves], medians: Mapping[str, float | None] | None) -> Figure:
        """The figure for a page; a function that takes `medians` receives the median grokking time of each arm, if known."""
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
        """Register the decorated drawing function and make it draw in our style. See `FigureSpec` for the arguments.

        title              by default made from the name
        caption, shows     by default the first paragraph of the docstring
        standard           by default true for a figure that takes runs
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
        self.get(name)  # imports it, or raises with the nearest name
        return self._specs[name]

    def spec_of(self, draw: Draw) -> FigureSpec | None:
        """The spec of a registered drawing function (or a `functools.partial` of one); None if it is not registered."""
        while isinstance(draw, functools.partial):
            draw = draw.func
        return next((spec for spec in self._specs.values() if spec.draw is draw), None)

    def standard(self) -> list[FigureSpec]:
        """The figures of every report page, by `order`, then in the order of registration."""
        super().entries()
        return sorted((spec for spec in self._specs.values() if spec.standard), key=lambda spec: spec.order)


def summary(function: Callable[..., Any]) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())


figures = FigureRegistry()
