"""Tables of runs made up for rules."""

import numpy as np
import pandas as pd

from grokscope.store.results import Results


def runs_of(**arms):
    """A table of runs from lists of grokking times; None never grokked by epoch 10000. `__` in a name is a comma."""
    rows = [
        {
            "arm": arm.replace("__", ", ").replace("_", " "),
            "t_grok": t,
            "epoch": 10000 if t is None else t + 100,
            "best_test_accuracy": 0.1 if t is None else 1.0,
        }
        for arm, times in arms.items()
        for t in times
    ]
    return pd.DataFrame(rows)


def results_of(horizon=20_000, column="t_first_99", probes=None, **arms):
    """Results with one run per seed and arm, from lists of times (None: not reached by the horizon); `__` in a name is a comma."""
    rows = [
        {
            "run": f"{arm}-{seed}",
            "arm": arm.replace("__", ", ").replace("_", " "),
            "seed": seed,
            column: time,
            "epoch": horizon,
            "epochs": horizon,
            "status": "done",
        }
        for arm, times in arms.items()
        for seed, time in enumerate(times)
    ]
    curves = pd.DataFrame({"run": [], "epoch": []})
    return Results({"scale": "full", "experiment": "toy"}, pd.DataFrame(rows), curves, probes or {})


def lognormal(median, seeds=20, spread=0.3, seed=0):
    """Times of runs, with an effect of the seed that all arms share."""
    common = np.random.default_rng(99).normal(0, spread, seeds)
    return list(median * np.exp(common + np.random.default_rng(seed).normal(0, spread / 2, seeds)))
