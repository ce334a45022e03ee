"""Tables of runs made up for rules."""

import pandas as pd


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
