"""Runs added to stored results: which are kept, and publishing so that nothing is lost where several processes add to the same
experiment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConfigError, ResultsChangedError, StoreError

if TYPE_CHECKING:
    from ..experiments import Experiment
    from ..experiments.base import Scale
    from ..store.results import Results


def kept_results(experiment: Experiment, results: Path, scale: Scale) -> Results | None:
    """Stored results that further runs can be added to; prints why not where there are others."""
    from ..experiments.joining import why_not
    from ..store.results import load_results

    stored = load_results(results, experiment.name, scale)
    if stored is None:
        return None
    if reason := why_not(experiment, stored):
        print(
            f"{experiment.name}: all runs are trained, nothing is added to the stored results: {reason}",
            file=sys.stderr,
        )
        return None
    return stored


def check_kept(names: Sequence[str], results: Path, scale: Scale, add: bool) -> None:
    """ConfigError if results of some arms would replace stored ones of others."""
    from ..store.results import load_results

    for name in names:
        if load_results(results, name, scale) is not None:
            how = "no arm can be added to them (see above)" if add else "give --add to keep them"
            raise ConfigError("--arms", f"{results} has {scale} results of {name}, which would be replaced; {how}")


def publish(
    name: str,
    results: Path,
    scale: Scale,
    make: Callable[[Results | None], Results],
    base: Callable[[Results | None], Results | None] = lambda stored: stored,
) -> tuple[Results, Path]:
    """Store what `make` returns and return it with its folder. If another process stores results meanwhile, it is made again.

    make   is given those of the stored results that `base` keeps
    """
    from ..store.results import load_results, results_version, save_results

    while True:
        version = results_version(results, name, scale)
        kept = make(base(load_results(results, name, scale)))
        try:
            return kept, save_results(results, kept, replaces=version)
        except ResultsChangedError:
            print(f"{name}: another process has stored results at the same time; trying again", file=sys.stderr)


def addable(experiment: Experiment, earlier: Results | None, add: bool, now: Results | None) -> Results | None:
    """The results that runs are added to once they are trained; None if there are none.

    StoreError if nothing can be added to them: they are not to be replaced, and runs that were not trained because `earlier`, the
    results at first, had them would be missing.
    """
    from ..experiments.joining import why_not

    if now is None and earlier is None:
        return None
    reason = "they are gone" if now is None else why_not(experiment, now) if add else "give --add to keep them"
    if not reason:
        return now
    raise StoreError(
        f"{experiment.name}: the stored results have changed during training, and nothing is added to them: {reason}; the new runs "
        "stay in the directory of runs, and the same command trains what is missing"
    )
