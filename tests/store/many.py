"""Many stored runs, made through the store's own writers without training: a grid of settings × seeds, with plausible curves.

`python tests/store/many.py DIR --arms 500 --seeds 10` writes 5,000 runs of 60 evaluations each, to time the commands that read.
"""

from __future__ import annotations

import argparse
import os
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from grokscope.analysis import summary_of
from grokscope.config import RunConfig
from grokscope.store import RunFolder

EVERY = 10
"""Epochs between evaluations."""
SETTINGS = {
    "prior.beta": [0.0, 0.03, 0.1, 0.3, 1.0],
    "optim.weight_decay": [0.1, 0.3, 1.0, 3.0],
    "optim.lr": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2],
    "task.train_fraction": [0.3, 0.4, 0.5, 0.6, 0.7],
}
"""The grid from which arms are taken."""


def make_runs(folder: Path, *, arms: int, seeds: int, rows: int = 60) -> list[str]:
    """Write arms × seeds finished runs and return their ids; those that exist are left alone. The last arm of every four does
    not grok."""
    points = islice(product(*SETTINGS.values()), arms)
    ids = []
    for arm, values in enumerate(points):
        for seed in range(seeds):
            config = _config(dict(zip(SETTINGS, values, strict=True)), seed, EVERY * (rows - 1))
            ids.append(config.id)
            if (folder / config.id).exists():
                continue
            table = _curves(arm, seed, rows)
            with RunFolder.create_or_open(folder, config.id, config.to_dict(), device="cpu") as run:
                last = {f"{side}_accuracy": table[f"{side}_accuracy"][-1] for side in ("train", "test")}
                plain = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
                run.save(
                    config.epochs,
                    plain,
                    {"W": torch.zeros(1)},
                    {},
                    {**summary_of(table), **last},
                    status="done",
                    seconds=float(table["seconds"][-1]),
                )
    return ids


def _config(values: dict[str, Any], seed: int, epochs: int) -> RunConfig:
    plain: dict[str, Any] = {"task": {"p": 23}, "optim": {}, "prior": {}, "epochs": epochs, "seed": seed}
    for name, value in values.items():
        component, field = name.split(".")
        plain[component][field] = value
    return RunConfig.from_dict(plain)


def _curves(arm: int, seed: int, rows: int) -> dict[str, list[Any]]:
    """Columns of one run: train accuracy rises early, test accuracy late, with noise of the run's own."""
    random = np.random.default_rng([arm, seed])
    epoch = np.arange(rows) * EVERY
    memorised = 5 + random.integers(0, 5)
    grokked = rows * (0.3 + 0.05 * (arm % 8)) + random.integers(0, 8) if arm % 4 != 3 else 10 * rows
    train, test = (1 / (1 + np.exp(-(np.arange(rows) - t))) for t in (memorised, grokked))
    noise = np.exp(0.1 * random.standard_normal(rows))
    columns = {
        "epoch": epoch,
        "seconds": 0.01 * epoch,
        "D": 2.0 * (1 - 0.9 * test) * noise,
        **{f"attention_{place}": np.full(rows, 0.2) for place in range(5)},
        "train_loss": (1.001 - train) * noise,
        "train_accuracy": np.where(train > 0.97, 1.0, train),
        "test_loss": (1.01 - test) * noise,
        "test_accuracy": np.where(test > 0.97, 1.0, test),
        "mlp_norm": 20 * (1 - 0.5 * test) * noise,
        "grad_M": (0.01 + train * (1 - train) + test * (1 - test)) * noise,
        "grad_logit": 0.01 * noise,
        "bound": 0.02 * noise,
        "bound_paper": 0.03 * noise,
        "bound_ratio": np.full(rows, 0.5),
        **{f"norm_{number}": random.random(rows) for number in range(15)},
    }
    return {name: values.tolist() for name, values in columns.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arms", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    os.fsync = lambda descriptor: None  # type: ignore[assignment]
    print(len(make_runs(given.folder, arms=given.arms, seeds=given.seeds)), "runs")
