"""From stored runs to a page: arms by what differs between the runs, phases by the analysis, pictures, tables, the command.

The page is bounded however many runs it is about: pictures show some arms, tables their first rows, and the page says so.
A run that cannot be read is omitted and named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ..analysis import DEFAULT, Criterion, Times, find_phases, summarise, times_of_each
from ..conditions import Arms, arms_of, effective_settings, shown_value
from ..config import RunConfig
from ..config.watched import informative_positions
from ..errors import ConfigError, StoreError
from ..figures import RunCurves
from ..figures.data import same_looks_of
from ..figures.meanings import meanings_by_settings
from ..scores import either_score, shown_score
from ..settings import flatten
from ..store import RunInfo, omitted_lines, read_each, save_file
from ..tasks import score_name
from .arms import DRAWN, ArmTable, drawn_arms, left_out, reference_arm, statistics, table_of_arms
from .page import Page, RunRow, Section, render
from .pictures import Picture, chosen_pictures, standard_pictures
from .settings import ReadSettings, position_names, read_settings, settings_table, versions

LISTED = 200
"""Most runs in the table of runs."""

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


class BuiltPage(NamedTuple):
    """A page and what it is made of."""

    html: str
    pictures: tuple[Picture, ...]
    problems: dict[str, str]
    """What is wrong with the runs that were omitted, by id."""
    notes: list[str]
    """Settings that cannot be read or are ignored."""


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
    most_arms: int = DRAWN,
    by: Sequence[str] = (),
    reference: str = "",
    problems: Mapping[str, str] | None = None,
    opening: Picture | None = None,
    png: bool = False,
    progress: Progress = lambda doing, done, total: None,
) -> BuiltPage:
    """The page as HTML, and its pictures.

    arms        names the condition of each run; by default short names of what differs
    criterion   when a run counts as having memorised, and as having grokked
    figures     names of the figures that it shows; by default the standard ones
    most_arms   how many arms the pictures show
    by          settings that distinguish arms, in place of all in which the runs differ
    reference   the arm that others are compared with; by default the one nearest to the default settings
    problems    runs that were omitted before, by id, with what is wrong
    opening     a picture that the page opens with
    png         make every picture as PNG as well, to be saved
    """
    intact, omitted = _readable(runs, criterion, progress)
    omitted = {**(problems or {}), **omitted}
    if not intact:
        raise StoreError("; ".join(omitted_lines(omitted))) if omitted else ConfigError("runs", "no runs to report on")
    names = {} if arms is None else {run.id: arm for run, arm in zip(runs, arms, strict=True)}
    settings = read_settings([run for run, _ in intact])
    arms_known = _arms([names[run.id] for run, _ in intact] if names else None, settings, by)
    order = arms_known.order()
    runs, times, arms = ([those[at] for at in order] for those in (*zip(*intact, strict=True), arms_known.names))
    settings = settings.reordered(order)
    table = _table(runs, arms, times)
    summary = summarise(table, "arm")
    differing = [] if names else arms_of(settings.values).columns
    chosen = reference_arm(arms_known, flatten(RunConfig().to_dict()), reference)
    known = ArmTable(
        runs=_with_settings(table, settings, differing),
        summary=summary,
        arms=arms_known,
        settings=differing,
        reference=chosen,
    )
    scores = {run.id: score_name(run.config) for run in runs}
    score = either_score(scores.values())
    medians = {str(arm): None if pd.isna(m) else float(m) for arm, m in summary["median"].items()}
    drawn = drawn_arms(summary, most_arms, chosen)
    members: dict[str, list[int]] = {arm: [] for arm in drawn}
    for place, arm in enumerate(arms):
        if arm in members:
            members[arm].append(place)
    places = [place for own in members.values() for place in own]
    curves = _curves(
        [runs[p] for p in places], [arms[p] for p in places], [settings.configs[p] for p in places], criterion
    )
    with same_looks_of(curves):
        pictures = (
            chosen_pictures(figures, curves, medians, png=png, progress=progress)
            if figures
            else standard_pictures(curves, medians, png=png, progress=progress)
        )
    page = Page(
        title=title,
        lead=lead,
        verdict=tuple(statistics(known) if verdict is None else verdict),
        opening=opening,
        what=(*what, *_pooled(arms_known)),
        arms=tuple((arm, (meanings or {}).get(arm, _meaning(arms_known, arm))) for arm in drawn),
        settings=tuple(settings_table(settings)),
        pictures=pictures,
        pictures_note=left_out(drawn, summary),
        sections=(*sections, *_more_sections(known, omitted, tabled=verdict is None)),
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
                **{key: _shown(run, key, scores) for key in ("train_accuracy", "test_accuracy")},
            )
            for run, arm, own in list(zip(runs, arms, times, strict=True))[:LISTED]
        ),
        runs_note=f"The first {LISTED} of {len(runs):,} runs; grokscope runs lists all." if len(runs) > LISTED else "",
        score=score,
        memorised=criterion.describe(f"train {score}"),
        grokked=criterion.describe(f"test {score}"),
        command=command,
        versions=tuple(versions(runs[0].manifest)),
    )
    with same_looks_of(curves):
        return BuiltPage(render(page), pictures, omitted, settings.notes)


def _readable(
    runs: Sequence[RunInfo], criterion: Criterion, progress: Progress
) -> tuple[list[tuple[RunInfo, Times]], dict[str, str]]:
    """The runs that can be read, with their times, and the problems of the others.

    Every metric file is verified, also of runs that no picture shows: whether a run counts must not depend on that.
    """
    intact, problems = [], {}
    times = times_of_each(runs, criterion)
    for number, (run, own, table) in enumerate(zip(runs, times, read_each(runs, ()), strict=True)):
        progress("reading runs", number + 1, len(runs))
        problem = next((str(part) for part in (own, table) if isinstance(part, StoreError)), "")
        if not problem and not isinstance(table, StoreError) and not len(table):
            problem = f"run {run.id} has no measurements yet"
        if not problem and not isinstance(run.config.get("seed"), int):
            problem = f"{run.path}: its config has no seed"
        if problem or isinstance(own, StoreError):
            problems[run.id] = problem
        else:
            intact.append((run, own))
    return intact, problems


def _arms(names: Sequence[str] | None, settings: ReadSettings, by: Sequence[str]) -> Arms:
    """The arms of the runs: as they are named, or by their settings."""
    if names is None:
        return arms_of(settings.values, by)
    return Arms(names=list(names), settings={name: {} for name in names}, pooled=[])


def _with_settings(table: pd.DataFrame, settings: ReadSettings, names: Sequence[str]) -> pd.DataFrame:
    """The table with a column per setting; values that cannot be compared are text."""
    # as the arms are told apart: a prior without strength has no kind
    flat = effective_settings([flatten(values) for values in settings.values])
    columns = {name: [_plain(own.get(name)) for own in flat] for name in names}
    if "prior.beta" in columns:  # the strength of a prior that is not there
        columns["prior.beta"] = [value if value is not None else 0.0 for value in columns["prior.beta"]]
    return table.assign(**columns)


def _shown(run: RunInfo, column: str, scores: Mapping[str, str]) -> str:
    """The last accuracy or R² of a run; R² is marked where a table has both."""
    return shown_score(run.summary.get(column), scores[run.id], mixed=len(set(scores.values())) > 1)


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, type(None))) else shown_value(value)


def _meaning(arms: Arms, arm: str) -> str:
    """The settings behind an arm's short name."""
    return ", ".join(f"{name} = {shown_value(value)}" for name, value in arms.settings[arm].items())


def _pooled(arms: Arms) -> list[str]:
    if not arms.pooled:
        return []
    return [f"Within an arm the runs also differ in {', '.join(arms.pooled)}."]


def _more_sections(table: ArmTable, omitted: Mapping[str, str], *, tabled: bool) -> list[Section]:
    """A table of the arms, and the runs that were omitted."""
    sections = [table_of_arms(table)] if tabled and len(table.summary) > 1 else []
    if omitted:
        sections.append(
            Section(
                name="omitted",
                title="Omitted runs",
                text=tuple(line.replace("`", "") for line in omitted_lines(omitted)),
            )
        )
    return sections


def curves_of(runs: Sequence[RunInfo], arms: Sequence[str], criterion: Criterion = DEFAULT) -> list[RunCurves]:
    """Metrics of each run with the results of the analysis. StoreError for a run that cannot be read or has none."""
    return _curves(runs, arms, read_settings(runs).configs, criterion)


def _curves(
    runs: Sequence[RunInfo], arms: Sequence[str], configs: Sequence[RunConfig | None], criterion: Criterion
) -> list[RunCurves]:
    curves = []
    meanings = meanings_by_settings(arms, [flatten(config.to_dict()) if config else {} for config in configs])
    for run, arm, config, table in zip(runs, arms, configs, read_each(runs), strict=True):
        if isinstance(table, StoreError):
            raise table
        metrics = table.to_pandas()
        if metrics.empty:
            raise StoreError(f"run {run.id} has no measurements yet")
        phases = find_phases(metrics, criterion)
        positions, informative = position_names(config) if config else _watched_positions(run.config, metrics)
        curves.append(
            RunCurves(
                arm=arm,
                seed=run.config["seed"],
                metrics=metrics,
                phases=phases.borders,
                t_mem=phases.t_mem,
                t_grok=phases.t_grok,
                branched=run.manifest.get("parent", {}).get("epoch"),
                criterion=criterion.describe(f"test {score_name(run.config)}"),
                score=score_name(run.config),
                status=run.status,
                positions=positions,
                informative=informative,
                meaning=meanings.get(arm, ""),
            )
        )
    return curves


def _watched_positions(plain: Mapping[str, Any], metrics: pd.DataFrame) -> tuple[list[str], list[int]]:
    """Positions of the sequences of a network of the user's own, where they are known."""
    informative = informative_positions(plain)
    length = sum(re.fullmatch(r"attention_\d+", str(column)) is not None for column in metrics)
    return ([f"position {place}" for place in range(length)], informative) if informative else ([], [])


def table_of(runs: Sequence[RunInfo], arms: Sequence[str], criterion: Criterion = DEFAULT) -> pd.DataFrame:
    """One row per run, for statistics. StoreError for a run that cannot be read."""
    times = []
    for own in times_of_each(runs, criterion):
        if isinstance(own, StoreError):
            raise own
        times.append(own)
    return _table(runs, arms, times)


def _table(runs: Sequence[RunInfo], arms: Sequence[str], times: Sequence[Times]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = [
        {
            "arm": arm,
            "seed": run.config["seed"],
            "status": run.status,
            "epoch": run.epoch,
            "t_mem": own.t_mem,
            "t_grok": own.t_grok,
            "tau_grok": own.tau_grok,
            "test_accuracy": run.summary.get("test_accuracy"),
        }
        for run, arm, own in zip(runs, arms, times, strict=True)
    ]
    return pd.DataFrame(rows)


def save_picture(folder: Path, picture: Picture) -> None:
    """Write one figure as separate files, for a paper or a slide."""
    save_file(folder / f"{picture.name}.svg", picture.svg)
    save_file(folder / f"{picture.name}.png", picture.png)
