"""The command claims: the ledger of verdicts, rebuilt from stored results."""

from __future__ import annotations

import fnmatch
import importlib.metadata
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import __version__
from ..errors import ConfigError, StoreError, nearest
from .app import Json, app
from .completion import complete
from .printing import to_json

if TYPE_CHECKING:
    from ..experiments.base import Scale
    from ..experiments.ledger import Ledger

Results = Annotated[Path, typer.Option("--results", metavar="DIR", help="Directory of the compact results.")]
Row = dict[str, Any]


@app.command()
def claims(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Experiments or claims, such as si-fig3, 'gt-*' or si-fig3/accelerates; all by default.",
            autocompletion=complete("experiments"),
        ),
    ] = None,
    verdict: Annotated[
        list[str] | None,
        typer.Option("--verdict", metavar="VERDICT", help="Only claims with this verdict. May be repeated."),
    ] = None,
    results: Results = Path("results"),
    scale: Annotated[
        str | None, typer.Option(help="Scale of the results; both by default.", metavar="full | quick")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page docs/claims.md.")] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Compare docs and README beside DIR with the results; exit code 1 if they disagree."
        ),
    ] = False,
    pictures: Annotated[
        Path | None, typer.Option("--pictures", metavar="DIR", help="Also redraw every figure into DIR.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PAGE.html", help="Also write a page with all figures.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the ledger: every claim with its measurements and its verdict, rebuilt from stored results without training.

    Results that are damaged or stale are named on stderr and omitted; the exit code is 0 as long as any can be shown. Pages
    (--markdown, --check, --output, --pictures) are about the full results unless --scale is given.

        grokscope claims 'si-*' --verdict disagrees
    """
    from ..experiments.base import VERDICTS
    from ..experiments.clauses import KEY
    from ..experiments.counts import verdict_counts

    if scale not in (None, "full", "quick"):
        raise ConfigError("--scale", f"{scale!r} is neither full nor quick")
    for word in verdict or []:
        if word not in VERDICTS:
            raise ConfigError("--verdict", f"unknown verdict {word!r}. {nearest(word, VERDICTS)}")
    whole = {"--markdown": markdown, "--check": check, "--output": output, "--pictures": pictures}
    pages = [option for option, given in whole.items() if given]
    if pages and (verdict or (names and {"--markdown", "--check"} & set(pages))):
        raise ConfigError(pages[0], "is about the whole ledger; it cannot be combined with names or --verdict")
    scales: list[Scale] = [scale] if scale else ["full"] if pages else ["full", "quick"]  # type: ignore[list-item]
    ledgers = _ledgers(results, scales, names or [])
    # q is controlled over the whole ledger: what is printed without it need not be judged as a whole
    with_q = as_json or bool(pages) or not names
    rows = [row for ledger in ledgers for row in _rows(ledger, results, names or [], with_q=with_q)]
    if pages:
        _write_pages(ledgers[0], rows, results, pictures, output)
    shown = [row for row in rows if not verdict or row["verdict"] in verdict]
    if check:
        _check_pages(ledgers[0], rows, results)
    elif as_json:
        print(to_json(shown))
    elif markdown:
        from ..experiments.claims_page import claims_page

        print(claims_page(ledgers[0], rows), end="")
    else:
        print_rows(shown)
        print(f"\n{verdict_counts(shown)}")
        for ledger in ledgers:
            if ledger.found:
                print(_wrapped(ledger.summary()))
        print(_wrapped(KEY.replace("*", "")))


def _ledgers(results: Path, scales: Sequence[Scale], names: Sequence[str]) -> list[Ledger]:
    """The ledgers at the scales, restricted to the experiments that the names mean; those without any results are left out."""
    from ..experiments.base import matching_experiments
    from ..experiments.ledger import load_ledger

    chosen = {one.name for one in matching_experiments(name.partition("/")[0] for name in names)} if names else None
    ledgers = [load_ledger(results, scale, chosen) for scale in scales]
    for ledger in ledgers:
        _print_omitted(ledger)
    found = [ledger for ledger in ledgers if ledger.found]
    if not found and any(ledger.damaged for ledger in ledgers):
        raise StoreError(f"{results}: none of the results can be read")
    if not found and not any(ledger.stale for ledger in ledgers):
        raise ConfigError("--results", _nothing(results, scales, names))
    return found or ledgers[:1]


def _nothing(results: Path, scales: Sequence[str], names: Sequence[str]) -> str:
    """That there are no results, and how to get them."""
    of = f" of {', '.join(names)}" if names else ""
    sizes = f" {scales[0]}" if len(scales) == 1 else ""
    run = f"grokscope reproduce {names[0].partition('/')[0] if names else 'NAME'}"
    where = f"{results} contains no{sizes} results{of}" if results.is_dir() else f"there is no folder {results}"
    # the wheel leaves them out for their size
    archive = f"grokscope-{__version__}"
    return (
        f"{where}. The published results come with the source code{_source()}, not with the installed package: give their folder "
        f"with --results {archive}/results ({archive}.tar.gz, or a checkout), or make your own with `{run}`"
    )


def _source() -> str:
    """Where the source code is, if the package says so."""
    try:
        links = importlib.metadata.metadata("grokscope").get_all("Project-URL") or []
    except importlib.metadata.PackageNotFoundError:
        return ""
    found = [link.partition(", ")[2] for link in links if link.lower().startswith(("source", "repository", "homepage"))]
    return f" ({found[0]})" if found else ""


def _rows(ledger: Ledger, results: Path, names: Sequence[str], *, with_q: bool) -> list[Row]:
    """The rows of a ledger that the names mean."""
    from ..experiments.ledger import load_ledger

    rows = (load_ledger(results, ledger.scale) if names and with_q else ledger).rows(results, _shown)
    chosen = {experiment.name for experiment, _ in ledger.found}
    rows = [row if with_q else {**row, "q": None} for row in rows if row["experiment"] in chosen]
    for name in (name for name in names if "/" in name):
        if not fnmatch.filter([row["id"] for row in rows], name) and rows:
            raise ConfigError("claim", f"none is called {name!r}. {nearest(name, [row['id'] for row in rows])}")
    if any("/" in name for name in names):
        rows = [row for row in rows if any(fnmatch.fnmatch(row["id"], _pattern(name)) for name in names)]
    return rows


def _shown(judged: Iterable[Any], count: int) -> Iterable[Any]:
    """Experiments as they are judged, with a bar on a terminal: all of them take half a minute."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(judged, "Judging experiments", count, console=console, transient=True, disable=not console.is_terminal)


def _pattern(name: str) -> str:
    return name if "/" in name else f"{name}/*"


def _write_pages(
    ledger: Ledger, rows: Sequence[Row], results: Path, pictures: Path | None, output: Path | None
) -> None:
    from ..experiments.drawing import draw

    if pictures:
        for name, problem in draw(
            (experiment, stored, pictures) for experiment, stored in ledger.found
        ).failures.items():
            print(f"picture {name} was not drawn ({problem})", file=sys.stderr)
    if output:
        from ..experiments.gallery import gallery
        from ..store import save_file
        from .session import command_line

        save_file(output, gallery(ledger, rows, command_line()))


def _print_omitted(ledger: Ledger) -> None:
    """Name results that are stale or damaged on stderr."""
    scale_option = " --full" if ledger.scale == "full" else ""
    if ledger.stale:
        print(
            f"skipped, stored {ledger.scale} results are stale: {', '.join(ledger.stale)}; run grokscope reproduce{scale_option}",
            file=sys.stderr,
        )
    for name, problem in ledger.damaged.items():
        print(
            f"{name} omitted: {problem}; `grokscope reproduce {name}{scale_option}` stores it again from its runs",
            file=sys.stderr,
        )


def _check_pages(ledger: Ledger, rows: Sequence[Row], results: Path) -> None:
    """Print what the pages beside the results, and the list of pending experiments, say otherwise; exit code 1 if anything."""
    from ..experiments.check_pages import disagreements
    from ..experiments.pending import missing

    problems = [*disagreements(ledger, rows, results.resolve().parent), *missing(ledger, results)]
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        raise typer.Exit(1)
    print(f"{len(rows)} verdicts agree with the pages.")


def print_rows(rows: Sequence[Row]) -> None:
    """Print claims with their verdicts and measurements, wrapped to the width of a terminal."""
    for row in rows:
        when = f" ({row['when']})" if row["when"] else ""
        print(f"\n{row['id']} ({row['scale']})")
        lines = [f"  {row['statement']}", f"  → {row['verdict']}{when}"]
        lines += [f"    the paper: {row['reported']}"] if row["reported"] else []
        lines += [f"  note: {row['remark']}"] if row["remark"] else []
        lines += [f"    {line}" for line in row["measured"].splitlines()]
        q = f"; FDR q = {row['q']:.2g}" if row["q"] is not None else ""
        for line in [*lines, f"  test: {row['test'] or 'none'}{q}", f"  rule: {row['rule']}"]:
            print(_wrapped(line))


def _wrapped(line: str) -> str:
    """The line, on a terminal wrapped with its indentation; in a pipe as it is."""
    if not sys.stdout.isatty():
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    width = max(shutil.get_terminal_size().columns, 40)
    return textwrap.fill(line.strip(), width, initial_indent=indent, subsequent_indent=f"{indent}  ")
