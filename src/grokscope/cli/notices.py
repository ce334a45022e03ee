"""What a training command says of runs that are stored already: where they differ from what training them now would give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import StoreError

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..launch.executors import Executor
    from ..store import RunInfo

LONG = 30_000
"""Steps of all runs from which other processes are worth starting: about a minute."""


def stored_runs(configs: Iterable[RunConfig], folder: Path) -> list[RunInfo]:
    """Those of the runs that are stored. A damaged one is left to training, which refuses it."""
    from ..store import read_run

    found = []
    for id in {config.id: None for config in configs}:
        if (folder / id).exists():
            with suppress(StoreError):
                found.append(read_run(folder / id))
    return found


def notices(
    runs: Sequence[RunInfo], loaded: Sequence[Mapping[str, str]], measures: Iterable[str], again: bool = True
) -> list[str]:
    """One line per difference.

    loaded     files that are loaded now, as in a manifest
    measures   names of the measures that are registered now
    again      whether the command has the option --again
    """
    from ..store import FINISHED

    finished = [run for run in runs if run.status in FINISHED]
    unfinished = [run for run in runs if run.status not in FINISHED]
    names = list(measures)
    lines = [
        f"{file} has changed since {_count(count, 'finished')} created with it: "
        + (f"--again retrains {_them(count)}" if again else f"grokscope rm deletes {_them(count)}")
        for file, count in _changed(finished, loaded).items()
    ]
    lines += [
        f"{file} has changed since {_count(count, 'unfinished')} created: training continues with the code as it is now"
        for file, count in _changed(unfinished, loaded).items()
    ]
    if count := sum(bool(_missing(run, names)) for run in unfinished):
        missing = _union(_missing(run, names) for run in unfinished)
        lines.append(f"{_count(count, 'unfinished')} measured without {missing} so far: its columns begin here")
    gone = [[name for name in run.manifest.get("measures", []) if name not in names] for run in unfinished]
    if count := sum(map(bool, gone)):
        lines.append(f"{_count(count, 'unfinished')} measured with {_union(gone)}, which is not registered now")
    return lines


def small_networks(configs: Sequence[RunConfig], place: Executor, device: str) -> str:
    """A line on how to use idle cores, where Python code leaves them idle for long; empty otherwise."""
    from ..helpers import cores
    from ..launch.plan import plan_workers
    from ..ops.devices import resolve_device

    most = min(cores(), len(configs))
    if most < 2 or place.kind != "local" or not place.in_process(device):
        return ""
    here = resolve_device(place.own_device(device))
    steps = sum(config.epochs * config.steps_per_epoch for config in configs)
    if here.type != "cpu" or steps < LONG or plan_workers(configs, here, most) == most:
        return ""
    return f"small networks leave cores idle: --set local.processes=0 trains these runs in {most} processes, with the same numbers"


def _changed(runs: Sequence[RunInfo], loaded: Sequence[Mapping[str, str]]) -> Counter[str]:
    """Names of loaded files whose content is not that which a run was created with, and the number of such runs."""
    now: dict[str, set[str]] = {}
    for file in loaded:
        now.setdefault(Path(file["path"]).name, set()).add(file["sha256"])
    return Counter(
        name
        for run in runs
        for file in run.manifest.get("loaded", [])
        if (name := Path(file["path"]).name) in now and file["sha256"] not in now[name]
    )


def _missing(run: RunInfo, names: Sequence[str]) -> list[str]:
    """Measures that a run was created without; none where its manifest does not say."""
    recorded = run.manifest.get("measures")
    return [name for name in names if name not in recorded] if recorded else []


def _union(lists: Iterable[Iterable[str]]) -> str:
    return ", ".join(dict.fromkeys(name for names in lists for name in names))


def _count(count: int, status: str) -> str:
    return f"{count} {status} run{'s were' if count > 1 else ' was'}"


def _them(count: int) -> str:
    return "them" if count > 1 else "it"
