"""From stored runs to a page: arms by what differs between the runs, phases by the analysis, pictures, tables, the command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ..analysis import DEFAULT, Criterion, compare, find_phases, summarise, times_of, unfinished
from ..config import RunConfig, read_stored_if_possible, readable_settings
from ..describe import differences, meanings
from ..errors import ConfigError, StoreError
from ..figures import RunCurves
from ..settings import flatten
from ..store import RunInfo, read_metrics, save_file
from . import Page, Picture, RunRow, Section, Setting, chosen_pictures, render, standard_pictures


def curves_of(runs: Sequence[RunInfo], arms: Sequence[str], criterion: Criterion = DEFAULT) -> list[RunCurves]:
    """Metrics of each run with the results of the analysis."""
    curves = []
    for run, arm in zip(runs, arms, strict=True):
        metrics = read_metrics(run).to_pandas()
        if metrics.empty:
            raise StoreError(f"run {run.id} has no measurements yet")
        phases = find_phases(metrics, criterion)
        config = read_stored_if_possible(run.config, run.id)
        positions, informative = position_names(config) if config else ([], [])
        curves.append(
            RunCurves(
                arm=arm,
                seed=run.config["seed"],
                metrics=metrics,
                phases=phases.borders,
                t_mem=phases.t_mem,
                t_grok=phases.t_grok,
                criterion=criterion.describe(),
                status=run.status,
                positions=positions,
                informative=informative,
            )
        )
    return curves


def position_names(config: RunConfig) -> tuple[list[str], list[int]]:
    """a, b … for operands where they always stand at the same places, · for distractors, = for the query."""
    if not config.task.knows_informative or not config.model.has_attention:
        return [], []
    informative = config.task.split(config.seed_for("data")).test.marked
    length = informative.shape[1]
    if bool((informative != informative[0]).any()):
        return [*(f"position {j + 1}" for j in range(length - 1)), "="], []
    operands = informative[0].nonzero().flatten().tolist()
    names, distractors = [], 0
    for j in range(length - 1):
        distractors += j not in operands
        names.append(_letter(operands.index(j)) if j in operands else f"distractor {distractors}")
    return [*names, "="], operands


def _letter(number: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[number] if number < 26 else f"operand {number + 1}"


def table_of(runs: Sequence[RunInfo], arms: Sequence[str], criterion: Criterion = DEFAULT) -> pd.DataFrame:
    """One row per run, for statistics."""
    rows = []
    for run, arm in zip(runs, arms, strict=True):
        times = times_of(run, criterion)
        rows.append(
            {
                "arm": arm,
                "seed": run.config["seed"],
                "status": run.status,
                "epoch": run.epoch,
                "t_mem": times.t_mem,
                "t_grok": times.t_grok,
                "tau_grok": times.tau_grok,
                "test_accuracy": run.summary.get("test_accuracy"),
            }
        )
    return pd.DataFrame(rows)


def statistics(table: pd.DataFrame) -> list[str]:
    """Per arm: median grokking time with its range, and how many runs grokked; between arms: log-rank."""
    lines = []
    for arm, row in summarise(table, "arm").iterrows():
        # a median exists once half of the runs have grokked
        middle = "no median" if pd.isna(row["median"]) else f"median {row['median']:,.0f} epochs"
        spread = "" if pd.isna(row["fastest"]) else f" ({row['fastest']:,.0f} to {row['slowest']:,.0f})"
        waiting = table.loc[(table["arm"] == arm) & table["t_grok"].isna(), "status"]
        grokked = f"{int(row['runs'] - row['censored'])} of {int(row['runs'])} runs grokked{unfinished(waiting)}"
        lines.append(f"{arm}: {middle}{spread}, {grokked}.")
    if table["arm"].nunique() > 1:
        for pair in compare(table, "arm").pairs.itertuples():
            lines.append(
                f"{pair.arm} against {pair.other}: log-rank p = {pair.p:.3g}, {pair.p_holm:.3g} after Holm's correction."
            )
    return lines


def build_page(
    runs: Sequence[RunInfo],
    *,
    command: str,
    title: str = "Grokking runs",
    lead: str = "",
    arms: Sequence[str] | None = None,
    meanings: Mapping[str, str] | None = None,
    verdict: Sequence[str] | None = None,
    what: Sequence[str] = (),
    sections: Sequence[Section] = (),
    criterion: Criterion = DEFAULT,
    figures: Sequence[str] = (),
) -> tuple[str, tuple[Picture, ...]]:
    """The page as HTML, and its pictures.

    arms        names the condition of each run; by default by what differs
    criterion   when a run counts as having memorised, and as having grokked
    figures     names of the figures that it shows; by default the standard ones
    """
    if not runs:
        raise ConfigError("runs", "no runs to report on")
    arms = differences([complete_settings(run) for run in runs]) if arms is None else arms
    table = table_of(runs, arms, criterion)
    medians = {str(arm): None if pd.isna(m) else float(m) for arm, m in summarise(table, "arm")["median"].items()}
    curves = curves_of(runs, arms, criterion)
    pictures = chosen_pictures(figures, curves, medians) if figures else standard_pictures(curves, medians)
    page = Page(
        title=title,
        lead=lead,
        verdict=tuple(statistics(table) if verdict is None else verdict),
        what=tuple(what),
        arms=tuple((arm, (meanings or {}).get(arm, "")) for arm in dict.fromkeys(arms)),
        settings=tuple(settings_of(runs)),
        pictures=pictures,
        sections=tuple(sections),
        runs=tuple(
            RunRow(
                id=run.id,
                arm=arm,
                seed=run.config["seed"],
                status=run.status,
                epochs=run.epoch,
                seconds=run.seconds,
                t_mem=own.t_mem,
                t_grok=own.t_grok,
                **{key: run.summary.get(key) for key in ("train_accuracy", "test_accuracy")},
            )
            for run, arm, own in zip(runs, arms, curves, strict=True)
        ),
        criterion=str(criterion),
        command=command,
        versions=tuple(_versions(runs[0].manifest)),
    )
    return render(page), pictures


def complete_settings(run: RunInfo) -> dict[str, Any]:
    """A run's settings as plain values. Those that did not exist when it was stored have their default, so that runs of several
    versions can be compared."""
    config = read_stored_if_possible(run.config, run.id)
    return config.to_dict() if config else readable_settings(run.config)


def settings_of(runs: Sequence[RunInfo]) -> list[Setting]:
    """Every setting with its values and meaning."""
    flat = [flatten(complete_settings(run)) for run in runs]
    docs: dict[str, str] = {}
    for run in runs:
        config = read_stored_if_possible(run.config, run.id)
        docs |= meanings(config) if config else {}
    names = dict.fromkeys(name for settings in flat for name in settings)
    rows = []
    for name in names:
        values = list(dict.fromkeys(_word(settings[name]) for settings in flat if name in settings))
        rows.append(Setting(name=name, value=", ".join(values), meaning=docs.get(name, "").split("\n")[0]))
    return rows


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return " ".join(map(str, value)) or "–"
    return "–" if value in (None, "") else str(value)


def _versions(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, str(value)) for name, value in flatten(manifest).items() if value is not None and name != "created"]


def save_picture(folder: Path, picture: Picture) -> None:
    """Write one figure as separate files, for a paper or a slide."""
    save_file(folder / f"{picture.name}.svg", picture.svg)
    save_file(folder / f"{picture.name}.png", picture.png)
