"""Runs of made-up curves, written as a trainer would."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from grokscope.config import RunConfig
from grokscope.store import RunFolder

EVERY = 25


def row(epoch: int, grokked: float = 500, **more: float) -> dict[str, float]:
    """Memorised at epoch 100, generalised at `grokked`."""
    done = 1 / (1 + math.exp(-(epoch - grokked + 60) / 10))
    return {
        "epoch": epoch,
        "seconds": epoch / 100,
        "train_loss": 1e-3 + math.exp(-epoch / 30),
        "train_accuracy": min(1.0, epoch / 100),
        "test_accuracy": done,
        "D": 2.1 - 2 * done,
        "grad_logit": 0.1 * math.exp(-epoch / 100) + 1e-4,
        "bound": math.exp(-epoch / 200) + 1e-2,
        "grad_M": 0.1 * math.exp(-epoch / 100) + 1e-4,
        "mlp_norm": 20.0,
        "l2": 35.0,
        **{f"attention_{place}": 0.1 + 0.35 * done if place < 2 else 0.8 / 3 - 0.7 / 3 * done for place in range(5)},
        **more,
    }


def rows(last: int, grokked: float = 500, first: int = 0) -> list[dict[str, float]]:
    return [row(epoch, grokked) for epoch in range(first, last + 1, EVERY)]


def config(seed: int = 0, beta: float = 0.0, **more: Any) -> dict[str, Any]:
    plain = RunConfig().to_dict() | {"seed": seed, "epochs": 1000} | more
    return plain | {"prior": {**plain["prior"], "beta": beta}}


def open_run(runs: Path, id: str, seed: int = 0, beta: float = 0.0, **more: Any) -> RunFolder:
    return RunFolder.create_or_open(runs, id, config(seed, beta, **more), device="cpu")


def save(run: RunFolder, own: list[dict[str, float]], status: str = "running") -> None:
    last = own[-1]
    summary = {"test_accuracy": last["test_accuracy"], "train_accuracy": last["train_accuracy"]}
    run.save(int(last["epoch"]), own, {}, {}, summary, status=status, seconds=last["seconds"])


def finished(runs: Path, id: str, seed: int = 0, beta: float = 0.0, grokked: float = 500, last: int = 700) -> None:
    with open_run(runs, id, seed, beta) as run:
        save(run, rows(last, grokked), "grokked" if grokked < last else "done")
