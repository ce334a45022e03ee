"""Hand-made evidence: a run that memorises at epoch 100 and groks at 600, with every metric set so that each statement holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from grokscope.config import RunConfig
from grokscope.models.transformer import Transformer
from grokscope.optim.adamw import AdamW
from grokscope.papers.structural_inference.audit import Evidence, Replay
from grokscope.priors.kl import KL
from grokscope.tasks.modular import Modular

T_MEM, T_GROK, LAST = 100, 600, 1000

CONFIG = RunConfig(
    precision="float32",
    task=Modular(p=7, distractors=2, alphabet=3, train_fraction=0.6),
    model=Transformer(d=8, d_mlp=16),
    optim=AdamW(lr=1e-2, warmup=0.0),
    epochs=LAST,
)
"""T = 5, k = 2, λ = 0.01."""


def metrics(**given: Any) -> pd.DataFrame:
    """A table of evaluations every 10 epochs; `given` replaces columns, by a value or a function of the epochs."""
    epoch = np.arange(0, LAST + 1, 10)
    resurgent = (epoch >= 450) & (epoch < 650)
    quiet = np.where(epoch < T_MEM, 1.0, np.where(resurgent, 0.1, 0.01))
    columns: dict[str, Any] = {
        "train_accuracy": np.clip(epoch / T_MEM, 0, 1),
        "test_accuracy": np.where(epoch >= T_GROK, 1.0, 0.1),
        "train_loss": np.where(epoch < T_MEM, 1.0, np.where(resurgent, 2e-3, 1e-3)),
        "grad_M": quiet,
        "grad_logit": 0.1 * quiet,
        "bound_paper": 10 * quiet,
        "bound_ratio": np.full(epoch.size, 0.05),
        "D": 0.9 * np.exp(-0.01 * epoch),
        "mass_worst": np.where(epoch >= 500, 0.45, 0.05),
        "mass_mean": np.full(epoch.size, 0.45),
        "mlp_norm": np.where(epoch >= T_GROK, 10.0, 20.0),
        **{f"norm_{name}": 3.0 for name in CONFIG.model.parameters(CONFIG.task.shape)},
    }
    columns |= {name: value(epoch) if callable(value) else value for name, value in given.items()}
    return pd.DataFrame({"epoch": epoch, **columns})


def net(**given: Any) -> Replay:
    """γ = 12 / (5 · 8) = 0.3 with the upper bound on L_max, 0.4 with the sampled one: below 1/k = 1/2, above 1/T = 1/5."""
    values = {
        "epoch": LAST,
        "accuracy": 1.0,
        "margin": 12.0,
        "lipschitz": 5.0,
        "lipschitz_sampled": 3.75,
        "spread": 8.0,
        "heads": 1,
        "pair_least": 0.9,
        "mass_worst": 0.45,
        "divergence_worst": 0.01,
    }
    return Replay(**{**values, **given})  # type: ignore[arg-type]


Make = Callable[..., Evidence]


@pytest.fixture
def make() -> Make:
    """Evidence with some columns, settings (`config`) or checkpoints (`nets`) replaced."""

    def evidence(config: RunConfig = CONFIG, nets: tuple[Replay, ...] | None = None, **columns: Any) -> Evidence:
        early = net(epoch=250, accuracy=0.1, margin=2.0, mass_worst=0.05, pair_least=0.1, divergence_worst=2.0)
        replays = (early, net()) if nets is None else nets
        return Evidence(
            id="hand-made", config=config, metrics=metrics(**columns), replays=replays, pairs=24, exhaustive=True,
            obstacle="" if replays else "no net",
        )  # fmt: skip

    return evidence


@pytest.fixture
def with_prior() -> Callable[..., RunConfig]:
    """The same run with the oracle prior: β = 0.5, so β̃ = 0.005 a step."""

    def config(**prior: Any) -> RunConfig:
        return replace(CONFIG, prior=KL(**{"beta": 0.5, **prior}))

    return config


@pytest.fixture
def config() -> RunConfig:
    return CONFIG


@pytest.fixture
def replayed() -> Callable[..., Replay]:
    return net
