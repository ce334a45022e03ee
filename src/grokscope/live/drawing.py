"""Curves of the runs in view, and the details of the selected one, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..analysis import DEFAULT
from ..settings import flatten
from ..tasks import score_name
from .choice import Choice, natural, setting_of
from .curves import band, common_epochs, plain, sampled
from .panels import PANELS
from .positions import Positions
from .run import LiveRun

MOST_LINES = 20
"""Runs that are drawn as lines; of more, the median and a band per colour are drawn."""
MOST_COLOURS = 7
"""Conditions that have a colour each; more share one, until a setting is chosen to colour by."""
ALL = "all runs in view"


def grouped(choice: Choice, chosen: Sequence[LiveRun]) -> dict[str, list[LiveRun]]:
    """The runs of each colour, in order of their first run."""
    by = choice.by
    groups: dict[str, list[LiveRun]] = {}
    for run in sorted(chosen, key=lambda run: (run.info.manifest.get("created", ""), run.info.id)):
        if run.info.config:
            name = f"{by} = {setting_of(run, by)}" if by else run.condition
            groups.setdefault(name, []).append(run)
    if by and len(groups) > 1:
        groups = dict(sorted(groups.items(), key=lambda item: natural(item[0].partition(" = ")[2])))
    if len(groups) > MOST_COLOURS and not by:
        return {ALL: [run for members in groups.values() for run in members]}
    return groups


def curves(choice: Choice, chosen: Sequence[LiveRun], selected: LiveRun | None) -> dict[str, Any]:
    """The series of every panel on common epochs: a line per run, or median and band per colour; and the selected run."""
    from ..figures import arm_colours
    from ..figures.meanings import meanings_by_settings, meant_by_settings

    groups = grouped(choice, chosen)
    drawn = [run for members in groups.values() for run in members]
    lines = len(drawn) <= MOST_LINES
    tables = [run.columns for run in drawn]
    extra = [selected.columns] if selected and selected not in drawn else []
    grid = common_epochs([*tables, *extra], log=not choice.linear)
    runs = [(name, flatten(run.info.config)) for name, members in groups.items() for run in members]
    names, settings = [name for name, _ in runs], [own for _, own in runs]
    with meant_by_settings(meanings_by_settings(names, settings)):
        colours = arm_colours(list(groups))
    labels = _short_names(list(groups))
    panels: dict[str, list[dict[str, Any]]] = {}
    for panel in PANELS:
        series: list[dict[str, Any]] = []
        for number, members in enumerate(groups.values()):
            for place, (metric, _) in enumerate(panel.metrics):
                mark = {"group": number, "dashed": place > 0}
                if lines:
                    for run in members:
                        values = plain(sampled(run.columns, metric, grid, positive=panel.log))
                        series.append({**mark, "run": run.info.id, "y": values})
                else:
                    found = band([run.columns for run in members], metric, grid, positive=panel.log)
                    series.append({**mark, "y": plain(found.middle)})
                    if place == 0:
                        series[-1] |= {"low": plain(found.low), "high": plain(found.high)}
        if selected and (not lines or extra):
            for place, (metric, _) in enumerate(panel.metrics):
                values = plain(sampled(selected.columns, metric, grid, positive=panel.log))
                series.append({"group": -1, "dashed": place > 0, "run": selected.info.id, "y": values})
        panels[panel.name] = [own for own in series if any(value is not None for value in own["y"])]
    return {
        "x": grid.tolist(),
        "lines": lines,
        "groups": [
            {"name": name, "label": labels[name], "colour": colours[name], "runs": len(members)}
            for name, members in groups.items()
        ],
        "conditions": len({run.condition for run in drawn}),
        "panels": panels,
    }


def _short_names(names: Sequence[str]) -> dict[str, str]:
    """Names for the ends of lines: "beta = 0.3" where one setting differs, else the values alone, "0.3, oracle"."""
    split = {name: [part.partition(" = ") for part in name.split(", ")] for name in names}
    if {part[0] for parts in split.values() for part in parts} == {parts[0][0] for parts in split.values()}:
        return {name: f"{parts[0][0].rpartition('.')[2]}{parts[0][1]}{parts[0][2]}" for name, parts in split.items()}
    return {name: ", ".join(part[2] or part[0] for part in parts) for name, parts in split.items()}


def details(choice: Choice, run: LiveRun, known: Positions | None) -> dict[str, Any]:
    """The selected run: its settings, its phases in words and as borders, and where its attention goes.

    known   names of its positions, if they are known yet
    """
    found = run.phases
    names = sorted((name for name in run.columns if name.startswith("attention_")), key=lambda name: int(name[10:]))
    grid = common_epochs([run.columns], log=not choice.linear, points=160)
    masses = [plain(sampled(run.columns, name, grid)) for name in names]
    # Names count back from the query, as positions do: a longer test sequence has unnamed positions on its left.
    shift = len(names) - len(known.names) if known and known.names else 0
    labels = [f"position {place}" for place in range(len(names))]
    for place, name in enumerate(known.names if known else []):
        if 0 <= place + shift < len(labels):
            labels[place + shift] = name
    return {
        "id": run.info.id,
        "condition": run.condition,
        "seed": run.info.config.get("seed"),
        "status": run.info.status,
        "reason": run.info.reason or run.info.problem,
        "settings": [[name, str(value)] for name, value in run.settings.items()],
        "sentences": found.describe(DEFAULT, run.info.status, score_name(run.info.config)) if found else [],
        "spans": [list(span) for span in found.borders] if found else [],
        "attention": {
            "epochs": grid.tolist(),
            "mass": masses,
            "names": labels,
            "informative": [place + shift for place in known.informative] if known else [],
        }
        if masses and len(grid)
        else None,
    }
