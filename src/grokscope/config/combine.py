"""Combine several requests for one run: evaluation and stop settings are not part of a run's id, so different callers may
request the same run with different ones."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

from .run import RunConfig
from .watch import Log, Stop


def combine(configs: Iterable[RunConfig]) -> dict[str, RunConfig]:
    """One config per run, by id, in order of first appearance. If a run is requested with different settings, its config covers
    all of them: the latest last epoch, a stop rule that fires when all would, evaluations and checkpoints at the epochs of each."""
    combined: dict[str, RunConfig] = {}
    for config in configs:
        known = combined.get(config.id, config)
        combined[config.id] = dataclasses.replace(
            known,
            epochs=max(known.epochs, config.epochs),
            log=_both_logs(known.log, config.log),
            stop=_later_stop(known.stop, config.stop),
        )
    return combined


def _both_logs(a: Log, b: Log) -> Log:
    return Log(every=math.gcd(a.every, b.every), dense=a.dense or b.dense, keep=math.gcd(a.keep, b.keep))


def _later_stop(a: Stop, b: Stop) -> Stop:
    never = not a.accuracy or not b.accuracy
    return Stop(
        accuracy=0.0 if never else max(a.accuracy, b.accuracy),
        window=max(a.window, b.window),
        extend=max(a.extend, b.extend),
    )
