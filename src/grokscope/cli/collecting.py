"""Results of experiments, collected in other processes while later runs train.

A run is probed as soon as it is finished, and an experiment is collected after its last run: probes and pictures take minutes for
many experiments, and what was collected stays when the command is interrupted. On one or two cores, which training needs,
everything is collected afterwards.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import StoreError
from ..helpers import cores, helpers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ..config import RunConfig
    from ..experiments import Experiment
    from ..experiments.base import Scale
    from ..store import RunInfo
    from ..store.results import Results

LOOK = 1.0
"""Seconds between two looks at the runs."""
AT_ONCE = 32
"""Runs of an experiment with probes that are looked at each time: training needs the time of this process."""

Tables = Mapping[tuple[str, str], "pd.DataFrame"]
"""What probes found, by probe and id of the run."""


def collected(
    experiment: Experiment,
    scale: Scale,
    arms: Iterable[str],
    own: list[tuple[str, RunInfo]],
    processes: int = 1,
    probed: Tables | None = None,
) -> Results:
    """The results of one experiment.

    arms        all that were requested
    own         the runs that were trained, with their arms
    processes   that may evaluate probes at once
    probed      what was evaluated before
    """
    from .. import __version__
    from ..analysis import DEFAULT
    from ..experiments.collect import run_rows, training_totals
    from ..experiments.diverged import NOT_TRAINED
    from ..experiments.drawing import stored_metrics
    from ..experiments.frozen import COMMIT, RULES, current_commit, rule_hashes
    from ..experiments.probing import probe_tables
    from ..store.results import Results

    names, runs = [arm for arm, _ in own], [run for _, run in own]
    lost = [arm for arm in dict.fromkeys(arms) if arm not in names]
    table, curves = run_rows(
        runs, names, DEFAULT, experiment.thresholds, experiment.collected, stored_metrics(experiment)
    )
    about = {
        "experiment": experiment.name,
        "scale": scale,
        "version": __version__,
        "device": runs[0].manifest.get("device", ""),
        "criterion": DEFAULT.to_dict(),
        COMMIT: current_commit(),
        RULES: rule_hashes(experiment),
        **training_totals(table),
        **({NOT_TRAINED: lost} if lost else {}),
    }
    return Results(about, table, curves, probe_tables(experiment.probes, runs, names, processes, probed))


class Collector:
    """Watches the runs of experiments."""

    def __init__(self, scale: Scale, runs: Path, results: Path):
        self.scale, self.runs, self.results = scale, runs, results
        self._waiting: dict[str, list[tuple[str, RunConfig]]] = {}
        """The experiments whose runs are not all finished."""
        self._left: dict[str, deque[RunConfig]] = {}
        """Their runs that were not found finished yet."""
        self._probes: dict[str, Sequence[str]] = {}
        """Those that are asked for, by experiment."""
        self._probed: dict[str, dict[tuple[str, str], Future[pd.DataFrame]]] = {}
        """What was begun of them for runs that are finished, by probe and id of the run."""
        self._begun: dict[str, Future[None]] = {}
        self._pool: ProcessPoolExecutor | None = None

    @contextmanager
    def watching(self, asked: dict[str, list[tuple[str, RunConfig]]]) -> Iterator[None]:
        """Context in which runs are trained."""
        if cores() < 3 or not asked:
            yield
            return
        self._waiting = dict(asked)
        self._left = {name: deque(config for _, config in own) for name, own in asked.items()}
        self._probes = _probes_of(asked)
        self._probed = {name: {} for name in asked}
        self._pool = helpers(cores() // 2)
        ended = threading.Event()
        thread = threading.Thread(target=self._watch, args=(ended,), daemon=True)
        thread.start()
        whole = False
        try:
            yield
            whole = True
        finally:
            ended.set()
            thread.join()
            try:
                if whole:
                    self._look_at_all()
            except KeyboardInterrupt:
                whole = False
                raise
            finally:  # what an interrupted command has not begun to collect waits
                self._pool.shutdown(cancel_futures=not whole)

    def has(self, name: str) -> bool:
        """Whether the results of an experiment were collected and saved; prints what went wrong if not."""
        if name not in self._begun:
            return False
        if (error := self._begun[name].exception()) is None:
            return True
        print(f"{name}: collected once more, since it failed beside training ({error})", file=sys.stderr)
        return False

    def _watch(self, ended: threading.Event) -> None:
        while not ended.wait(LOOK):
            self._look()

    def _look_at_all(self) -> None:
        """Once nothing trains any more: begin all that is left."""
        self._look(every=True)
        wait([future for name in self._waiting if not self._left[name] for future in self._probed[name].values()])
        self._look()

    def _look(self, every: bool = False) -> None:
        """Begin to probe runs that are finished now, and to collect the experiments whose runs are all finished and probed.

        every   look at all runs, not at a few of an experiment
        """
        for name, own in tuple(self._waiting.items()):
            self._look_at_runs(name, every)
            probed = all(future.done() for future in self._probed[name].values())
            if not self._left[name] and probed and self._pool is not None:
                del self._waiting[name]
                ids = [(arm, config.id) for arm, config in own]
                # what failed is evaluated once more there, and its error told
                known = {key: one.result() for key, one in self._probed.pop(name).items() if one.exception() is None}
                self._begun[name] = self._pool.submit(_collect, name, self.scale, ids, self.runs, self.results, known)

    def _look_at_runs(self, name: str, every: bool) -> None:
        """Take the runs that are finished now from those that are left, and begin to probe them."""
        left, probes = self._left[name], self._probes[name]
        while not probes and left and self._finished(left[-1]):  # the last one is enough to know that some are left
            left.pop()
        for _ in range(len(left) if every else min(AT_ONCE, len(left)) if probes else 0):
            config = left.popleft()
            if self._finished(config):
                self._probe(name, config)
            else:
                left.append(config)

    def _probe(self, name: str, config: RunConfig) -> None:
        """Begin to evaluate the probes of a finished run."""
        from ..experiments.probing import evaluate_elsewhere, is_kept
        from ..store import read_run

        assert self._pool is not None
        first = min(one.seed for _, one in self._waiting[name])
        info = read_run(self.runs / config.id)
        for probe in self._probes[name]:
            if is_kept(probe, config.seed, first):
                self._probed[name][probe, config.id] = self._pool.submit(evaluate_elsewhere, probe, info)

    def _finished(self, config: RunConfig) -> bool:
        from ..launch.remaining import finished_as_requested

        path = self.runs / config.id
        try:
            return path.exists() and finished_as_requested(path, config)
        except StoreError:
            return False


def _probes_of(names: Iterable[str]) -> dict[str, Sequence[str]]:
    """The probes of experiments; none of those that are not registered."""
    from ..experiments.base import all_experiments

    known = all_experiments()
    return {name: known[name].probes if name in known else () for name in names}


def _collect(
    name: str, scale: Scale, ids: list[tuple[str, str]], runs: Path, results: Path, probed: Tables | None = None
) -> None:
    from ..experiments.base import find_experiment
    from ..experiments.drawing import drawn_pictures
    from ..figures import save
    from ..store import read_run
    from ..store.results import save_results

    experiment = find_experiment(name)
    own = [(arm, read_run(runs / id)) for arm, id in ids]
    kept = collected(experiment, scale, [arm for arm, _ in ids], own, cores() // 4, probed)
    folder = save_results(results, kept)
    for drawn in drawn_pictures(experiment, kept):
        save(drawn.figure, folder / f"{name}-{drawn.file}")
