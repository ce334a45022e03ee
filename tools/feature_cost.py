"""What the features of a forecast cost beside the training of the run: python -m tools.feature_cost [EPOCHS]

Features are computed at every epoch of observation that the probe `forecast` has, chains of the learning coefficient at the
first one. The run is the default one, trained for EPOCHS (2500: the shortest waits of stored runs) epochs. Both are seconds of one
core's work, so that whatever else the machine does is not counted.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch

from grokscope.analysis.plateau_features import MULTIPLES
from grokscope.config import Log, RunConfig
from grokscope.launch.local import train
from grokscope.probes import StoredRun
from grokscope.probes.forecast import network_features
from grokscope.store import RunInfo

SHORT, LONG = 20, 100
"""Epochs of two runs; the difference of what they take is that of the epochs, without what is done once."""


def cost(epochs: int = 2500) -> dict[str, float]:
    """Seconds of training and of features, and their ratio."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory() as folder:
            trained = [
                _timed(_train, length, f"{folder}/{length}") for length in (SHORT, SHORT, LONG)
            ]  # the first warms up
            training = (trained[2][1] - trained[1][1]) / (LONG - SHORT) * epochs
            run = StoredRun(trained[2][0])
            spent = [_timed(network_features, run, LONG, chains)[1] for chains in (False, True, False)][1:]
    finally:
        torch.set_num_threads(before)
    features = spent[0] + spent[1] * (len(MULTIPLES) - 1)
    return {"training_s": training, "features_s": features, "share": features / training}


def _train(epochs: int, folder: str) -> RunInfo:
    (info,) = train(RunConfig(epochs=epochs, log=Log(every=epochs, keep=epochs)), runs=folder, device="cpu")
    return info


def _timed(work: Callable[..., Any], *given: object) -> tuple[Any, float]:
    """What it returns, and the seconds of this process."""
    begin = time.process_time()
    made = work(*given)
    return made, time.process_time() - begin


if __name__ == "__main__":
    found = cost(int(sys.argv[1]) if len(sys.argv) > 1 else 2500)
    print(
        f"training {found['training_s']:.0f} s, features {found['features_s']:.1f} s: {100 * found['share']:.1f} % (limit: 10 %)"
    )
