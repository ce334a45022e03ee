"""Calibration of the Langevin chains on runs of forecast-dial, as `grokscope forecast RUN --calibrate` does it.

    python -m tools.llc_calibration

One seed of four arms is trained until it has a checkpoint on its plateau (minutes on two cores).
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from typing import Any

from grokscope.config import RunConfig, merge, nested
from grokscope.forecast.calibration import calibrate_run
from grokscope.launch.local import train_all
from grokscope.papers.causes.forecasts import BASE, DIAL, TASKS
from grokscope.probes import StoredRun

ARMS = ("q = 1", "q = 16", "multiplication", "four heads")
EPOCHS = 750
"""All of them have memorised by then, and held it."""


def calibrations() -> list[dict[str, Any]]:
    """One row per arm and setting of the chains."""
    every = {**DIAL, **TASKS}
    configs = [
        RunConfig.from_dict(merge(BASE.changes(), nested({**every[arm], "epochs": EPOCHS}))).check() for arm in ARMS
    ]
    with tempfile.TemporaryDirectory() as folder:
        infos = train_all(configs, runs=folder, device="cpu")
        found = [calibrate_run(StoredRun(info)) for info in infos]
    return [
        {"arm": arm, "epoch": own.epoch, "used": own.used, "used_drift": own.used_drift, **asdict(row)}
        for arm, own in zip(ARMS, found, strict=True)
        for row in own.rows
    ]


if __name__ == "__main__":
    for row in calibrations():
        print(row)
