"""Numbers of the grokking-tickets runs that need every evaluation, or the run that a ticket comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...experiments.clocks import Clock
from ...experiments.collected import Finished, collected
from ...tickets.base import FromRun

if TYPE_CHECKING:
    from torch import Tensor

LOW_LOSS = 0.1
EARLY = 2000
"""Epoch of Figure 8's early weights, at a learning rate of 0.001; at a larger one so much earlier."""

LOSS_FELL = Clock("t_loss_10", name="first test loss of 0.1 or less")


@collected("t_loss_10")
def loss_fell(run: Finished) -> float | None:
    """First epoch with a test loss of at most 0.1."""
    low = run.metrics.loc[run.metrics["test_loss"] <= LOW_LOSS, "epoch"]
    return None if low.empty else float(low.iloc[0])


@collected("l1_end")
def l1_end(run: Finished) -> float | None:
    """‖θ‖₁ at the last epoch."""
    return float(run.metrics["l1"].iloc[-1])


@collected("l2_end")
def l2_end(run: Finished) -> float | None:
    """‖θ‖₂ at the last epoch."""
    return float(run.metrics["l2"].iloc[-1])


@collected("fourier_start")
def fourier_start(run: Finished) -> float | None:
    """Fourier entropy of what the neurons read, before the first step."""
    return _fourier(run, 0)


@collected("fourier_early")
def fourier_early(run: Finished) -> float | None:
    """The same at 2,000 epochs with a learning rate of 0.001, at 200 with 0.01."""
    return _fourier(run, round(EARLY * 1e-3 / run.config.optim.lr))


@collected("fourier_end")
def fourier_end(run: Finished) -> float | None:
    """The same at the last epoch."""
    return _fourier(run, None)


def _fourier(run: Finished, epoch: int | None) -> float | None:
    metrics = run.metrics if epoch is None else run.metrics[run.metrics["epoch"] == epoch]
    return None if metrics.empty else float(metrics["fourier_entropy_in"].iloc[-1])


@collected("origin_accuracy")
def origin_accuracy(run: Finished) -> float | None:
    """Test accuracy, on its own test set, of the run that the ticket comes from, at the epoch of the ticket."""
    origin, ticket = run.origin, run.config.ticket
    if origin is None or not isinstance(ticket, FromRun):
        return None
    metrics = origin.metrics
    if isinstance(ticket.epoch, int):
        metrics = metrics[metrics["epoch"] <= ticket.epoch]
    return float(metrics["test_accuracy"].iloc[-1])


@collected("test_seen")
def test_seen(run: Finished) -> float | None:
    """Share of the test examples that the run which the ticket comes from was trained on."""
    origin = run.origin
    if origin is None:
        return None
    trained = _rows(origin.config.task.split(origin.config.seed_for("data")).train.inputs)
    tested = _rows(run.config.task.split(run.config.seed_for("data")).test.inputs)
    return len(tested & trained) / len(tested)


def _rows(inputs: Tensor) -> set[tuple[float, ...]]:
    """Distinct examples."""
    return {tuple(row) for row in inputs.tolist()}
