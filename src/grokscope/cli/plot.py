"""The command plot: any registered figure of stored runs, and movies of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ConfigError, StoreError
from .app import Json, Runs, Where, app, parse_sets
from .choice import EPILOG, choose_runs, progress_bar
from .completion import complete
from .printing import to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..figures import FigureSpec
    from ..store import RunInfo

MOVIE = "movie"


@app.command(epilog=EPILOG)
def plot(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="FIGURE",
            help="Name of a figure, such as accuracy or attention-map, or movie; without it, the figures are listed.",
            show_default=False,
            autocompletion=complete("figures"),
        ),
    ] = None,
    run: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Ids of runs, or prefixes of them; all runs by default.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write: STEM.svg and STEM.png by default; a movie is a .gif, .webp or .mp4.",
            show_default=False,
        ),
    ] = None,
    folder: Runs = Path("runs"),
    where: Where = None,
    as_json: Json = False,
) -> None:
    """Draw one figure of runs as SVG and PNG, such as accuracy, attention-map, embedding or gt-masks; or a movie.

    Figures of checkpoints need runs that kept some (`log.keep`). Without arguments, `grokscope plot` lists the figures.

        grokscope train --set log.keep=100 --set epochs=5000

        grokscope plot attention-map 3f9a

        grokscope plot embedding 3f9a -o circles

        grokscope plot movie 3f9a -o grokking.gif
    """
    from ..store import check_writable

    if name is None:
        _list_figures(as_json)
        return
    if name != MOVIE:
        _spec(name)  # an unknown name is refused first
    if output is not None:
        check_writable(output.parent)
    if name == MOVIE:
        from ..figures.movie import check_ending

        check_ending(output or Path(f"{MOVIE}.gif"))
    chosen = choose_runs(folder, run, parse_sets(where, "--where"))
    if not chosen.runs:
        raise StoreError("; ".join(chosen.problems.values()) or f"{folder}: contains no runs with measurements")
    if name == MOVIE:
        written = [_write_movie(chosen.runs, output or Path(f"{MOVIE}.gif"))]
    else:
        from .. import plot as draw
        from ..figures import save

        stem = output or Path(name)
        stem = stem.with_suffix("") if stem.suffix in (".svg", ".png") else stem
        written = list(save(draw.figure(name, chosen.runs), stem))
    print(to_json([str(path) for path in written]) if as_json else "\n".join(map(str, written)))
    chosen.finish(chosen.problems)


def _spec(name: str) -> FigureSpec:
    from ..figures import figures

    spec = figures.spec(name)
    if spec.takes == "results" and not spec.needs:
        raise ConfigError("figure", f"{name!r} is drawn from the results of an experiment; see grokscope reproduce")
    return spec


def _list_figures(as_json: bool) -> None:
    from ..figures import figures

    figures.entries()
    specs = [figures.spec(name) for name in figures.entries()]
    listed = [
        {"name": s.name, "title": s.title, "from": "curves" if s.takes == "runs" else "checkpoints", "about": s.shows}
        for s in sorted(specs, key=lambda spec: (spec.takes == "results", spec.order, spec.name))
        if s.takes == "runs" or s.needs
    ]
    about = "A run from memorising to grokking: accuracies, attention, embeddings"
    listed.append({"name": MOVIE, "title": "Movie", "from": "checkpoints", "about": about})
    width = max(len(one["name"]) for one in listed)
    lines = [f"{one['name']:<{width}}  {one['from']:<11}  {one['title']}" for one in listed]
    print(to_json(listed) if as_json else "\n".join(lines))


def _write_movie(runs: Sequence[RunInfo], path: Path) -> Path:
    from ..figures.movie import frames, save_movie
    from ..probes import probed
    from ..report.runs import curves_of

    if len(runs) > 1:
        print(f"the movie shows run {runs[0].id}, the first of {len(runs)}", file=sys.stderr)
    (curves,) = curves_of(runs[:1], [""])
    with progress_bar() as progress:
        progress("reading checkpoints", 0, 1)
        pictures = frames(curves, probed("attention-map", runs[0]), probed("embedding", runs[0]))
        progress("reading checkpoints", 1, 1)
    return save_movie(pictures, path)
