"""The command that verifies stored runs and results: check."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ConfigError, StoreError
from .app import Json, Runs, app
from .choice import progress_bar
from .printing import to_json


@app.command()
def check(
    run: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Ids of runs, or prefixes of them; all runs by default.")
    ] = None,
    folder: Runs = Path("runs"),
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Go back to the last complete epoch; damaged files are moved aside, not deleted."
        ),
    ] = False,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results", metavar="DIR", help="Check the compact results of experiments in DIR instead of runs."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Verify stored runs: every row, checksum and checkpoint, and that each folder bears the name of its run.

    Every damaged run is named in one line with what is wrong and what to do; the exit code is then 1. Nothing is changed without
    --repair, which truncates a run to the last epoch at which everything is complete: the same `grokscope train` continues from
    there and reproduces the same numbers. Damaged files are moved into the folder `.damaged` of the run. What cannot be repaired
    without a guess is left as it is, and named.

        grokscope check

        grokscope check 3f9a --repair

        grokscope check --results results
    """
    if results is not None:
        if run or repair:
            raise ConfigError("--results", "checks results; it takes neither runs nor --repair")
        _finish(_check_results(results), "results", as_json)
        return
    from ..store.verification import check_run, repair_run

    paths = _chosen(folder, run)
    verify = repair_run if repair else check_run
    found = []
    with progress_bar() as advance:
        for number, path in enumerate(paths):
            advance("checking", number, len(paths))
            checked = verify(path, _id_of)
            found.append(
                {
                    "id": checked.id,
                    "problems": checked.problems,
                    "advice": checked.advice,
                    "repaired": checked.repaired,
                }
            )
    _finish(found, "run", as_json)


def _finish(found: list[dict[str, Any]], kind: str, as_json: bool) -> None:
    """Print what was found and exit with 1 if anything is damaged."""
    damaged = [one for one in found if one["problems"]]
    if as_json:
        print(to_json(found))
    else:
        for one in found:
            if one["problems"]:
                print(f"{one['id']}: {_in_one_line(one['problems'])}" + (f"; {one['advice']}" if one["advice"] else ""))
            elif one["repaired"]:
                print(f"{one['id']}: repaired: {one['repaired']}")
        repaired = sum(bool(one["repaired"]) for one in found)
        words = [f"{len(found)} {_plural(kind, len(found))} checked"]
        words += [f"{repaired} repaired"] if repaired else []
        print(", ".join([*words, f"{len(damaged)} damaged" if damaged else "none damaged"]))
    if damaged:
        raise typer.Exit(1)


def _in_one_line(problems: list[str]) -> str:
    more = len(problems) - 1
    return problems[0] + (f", and {more} more {_plural('problem', more)}" if more else "")


def _plural(word: str, count: int) -> str:
    return word if count == 1 or word.endswith("s") else f"{word}s"


def _chosen(folder: Path, names: list[str] | None) -> list[Path]:
    """The folders of the named runs, or of all."""
    from ..store import check_runs_folder, find_run
    from ..store.verification import run_like_folders

    if names:
        return list(dict.fromkeys(find_run(folder, name, damaged=True).path for name in names))
    check_runs_folder(folder)
    return run_like_folders(folder)


def _id_of(config: Mapping[str, Any], name: str) -> str | None:
    """The id that belongs to a stored config; None if it has components or settings that are not known here."""
    from ..config import RunConfig
    from ..config.watched import is_watched, watched_id

    if is_watched(config):
        return watched_id(config)
    try:
        read, unknown = RunConfig.stored(config, name)
    except StoreError as error:
        print(f"{error}; its id was not compared with its settings", file=sys.stderr)
        return None
    return None if unknown else read.id


def _check_results(folder: Path) -> list[dict[str, Any]]:
    from ..store.results import load_results, stored_results

    if not folder.is_dir():
        raise ConfigError("--results", f"{folder} is not a folder of results")
    found: list[dict[str, Any]] = []
    for experiment, scale in stored_results(folder):
        problems, advice = [], ""
        try:
            load_results(folder, experiment, scale)
        except StoreError as error:
            problems, advice = [str(error)], f"grokscope reproduce {experiment} --{scale} writes them again"
        found.append({"id": f"{experiment}/{scale}", "problems": problems, "advice": advice, "repaired": ""})
    return found
