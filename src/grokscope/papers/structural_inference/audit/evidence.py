"""What an audit reads of one run: its settings, its metrics, and its replayed checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ....analysis import Phases, find_phases
from ....config import RunConfig
from ....errors import StoreError
from ....run import StoredRun
from ....store import RunInfo
from .pairs import Pairs, pairs_of
from .replay import Replay, delta_nec, replay

if TYPE_CHECKING:
    import pandas as pd

EARLIER = 4096
"""Pairs evaluated at a checkpoint that is not the newest: enough to see when the pair condition is met."""

Values = NDArray[np.float64]

LAYERS = "with more than one layer a changed token changes the values of other positions too, and Eq. 12 fails"
NO_PAIRS = "the task has no pairs of inputs that differ at one informative position and in their label"
NOT_FINITE = "the weights are not finite"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One run, ready to be checked against the paper."""

    id: str
    config: RunConfig
    metrics: pd.DataFrame
    """One row per evaluation, all of it finite."""
    replays: tuple[Replay, ...] = ()
    """Kept checkpoints and the newest one, oldest first."""
    obstacle: str = ""
    """Why there is no replay, where there is none."""
    pairs: int = 0
    """How many pairs were evaluated in the newest checkpoint; in the others a sample of `EARLIER` of them."""
    exhaustive: bool = False
    """Whether those are all pairs that begin with a test input."""

    @cached_property
    def phases(self) -> Phases:
        return find_phases(self.metrics)

    @cached_property
    def epochs(self) -> Values:
        return self.metrics["epoch"].to_numpy(dtype=np.float64)

    def column(self, name: str) -> Values:
        return self.metrics[name].to_numpy(dtype=np.float64)

    @property
    def trained(self) -> Replay | None:
        """The trained net: the newest checkpoint."""
        return self.replays[-1] if self.replays else None

    @property
    def gamma(self) -> float | None:
        """γ of the trained net, with the upper bound on L_max."""
        return self.trained.gamma if self.trained else None

    @cached_property
    def informative(self) -> int:
        """k."""
        return int(self.config.task.split(self.config.seed_for("data")).test.marked[0].sum())

    @property
    def length(self) -> int:
        """T of a test sequence, the query included."""
        return self.config.task.shape.test_length

    @property
    def delta_nec(self) -> float | None:
        """δ_nec of the trained net."""
        return None if self.gamma is None else delta_nec(self.informative, self.gamma)

    @cached_property
    def norm_range(self) -> tuple[float, float] | None:
        """r_min and r_max of N: the range of the MLP norm over evaluations from t_grok on. None without grokking.

        The paper gives no rule. By this one N holds from t_grok on, so it cannot be found to come too late.
        """
        if self.phases.t_grok is None:
            return None
        norms = self.column("mlp_norm")[self.epochs >= self.phases.t_grok]
        return float(norms.min()), float(norms.max())

    def at(self, name: str, epoch: float) -> float:
        """One metric at an epoch that was evaluated."""
        return float(self.column(name)[np.searchsorted(self.epochs, epoch)])


def read_evidence(run: RunInfo) -> Evidence:
    """Metrics and replayed checkpoints of one run; StoreError for a run that has no metrics or no checkpoint."""
    stored = StoredRun(run)
    config, metrics = stored.config, finite_rows(stored.metrics)
    if metrics.empty:
        raise StoreError(f"run {run.id} has no measurements yet")
    if "bound" not in metrics or "D" not in metrics:
        raise StoreError(
            f"run {run.id} has no attention or no informative-token labels: the theory does not apply to it"
        )
    saved = stored.epochs
    if not saved:
        raise StoreError(f"run {run.id} has no checkpoint yet")
    pairs = None if getattr(config.model, "layers", 1) > 1 else pairs_of(config)
    if pairs is None:
        reason = LAYERS if getattr(config.model, "layers", 1) > 1 else NO_PAIRS
        return Evidence(id=run.id, config=config, metrics=metrics, obstacle=reason)
    few = pairs.sample(EARLIER)
    found = [_replay(stored, epoch, pairs if epoch == saved[-1] else few) for epoch in saved]
    replays = [one for one in found if one is not None]
    return Evidence(
        id=run.id,
        config=config,
        metrics=metrics,
        replays=tuple(replays),
        obstacle="" if replays else NOT_FINITE,
        pairs=len(pairs.first),
        exhaustive=pairs.exhaustive,
    )


def finite_rows(metrics: pd.DataFrame) -> pd.DataFrame:
    """The evaluations before a run diverged: those in which every metric is finite (the clocks need not be)."""
    columns = [name for name in metrics.columns if not name.startswith("seconds")]
    return metrics[np.isfinite(metrics[columns].to_numpy(dtype=np.float64)).all(axis=1)]


def _replay(stored: StoredRun, epoch: int, pairs: Pairs) -> Replay | None:
    network = stored.network(epoch)
    return replay(network, epoch, pairs) if network.is_finite else None
