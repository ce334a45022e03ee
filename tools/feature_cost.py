"""What the features of a forecast cost beside the training of the run: python -m tools.feature_cost [EPOCHS]

Features are computed at every epoch of observation that the probe `forecast` has, chains of the learning coefficient at the
first one. The run is the default one, trained for EPOCHS (2500: the shortest waits of stored runs) epochs.
"""

from __future__ import annotations

import sys
import tempfile
import time

from grokscope.analysis.plateau_features import MULTIPLES
from grokscope.config import Log, RunConfig
from grokscope.launch.local import train
from grokscope.probes import StoredRun, few_threads
from grokscope.probes.forecast import network_features

SHORT = 40
"""Epochs that are trained and timed."""


def cost(epochs: int = 2500) -> dict[str, float]:
    """Seconds of training and of features, and their ratio."""
    with tempfile.TemporaryDirectory() as folder, few_threads():
        (info,) = train(RunConfig(epochs=SHORT, log=Log(every=SHORT, keep=SHORT)), runs=folder, device="cpu")
        training = info.seconds / SHORT * epochs
        run = StoredRun(info)
        spent = []
        for chains in (True, False):
            begin = time.perf_counter()
            network_features(run, SHORT, chains=chains)
            spent.append(time.perf_counter() - begin)
    features = spent[0] + spent[1] * (len(MULTIPLES) - 1)
    return {"training_s": training, "features_s": features, "share": features / training}


if __name__ == "__main__":
    found = cost(int(sys.argv[1]) if len(sys.argv) > 1 else 2500)
    print(
        f"training {found['training_s']:.0f} s, features {found['features_s']:.1f} s: {100 * found['share']:.1f} % (limit: 10 %)"
    )
