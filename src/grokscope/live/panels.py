"""What the page draws: its panels, and the metrics in each. The first metric of a panel is drawn solid, the second dashed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Panel:
    name: str
    title: str
    metrics: tuple[tuple[str, str], ...]
    """Column and what it is called, the main one first."""
    log: bool = False
    """Whether its axis of values is logarithmic."""
    percent: bool = False


PANELS = (
    Panel(
        name="accuracy",
        title="Accuracy (R² of a regression)",
        metrics=(("test_accuracy", "test"), ("train_accuracy", "train")),
        percent=True,
    ),
    Panel(
        name="divergence",
        title="D, distance of attention from the informative tokens (nats)",
        metrics=(("D", "D"),),
        log=True,
    ),
    Panel(
        name="gradient",
        title="Attention gradient under its bound (nats)",
        metrics=(("grad_logit", "largest |∂CE/∂ℓ|"), ("bound", "bound of Lemma 5.1")),
        log=True,
    ),
    Panel(name="norms", title="Norm of the weights", metrics=(("mlp_norm", "MLP"), ("l2", "all weights"))),
)

_READ = {metric for panel in PANELS for metric, _ in panel.metrics} | {"seconds", "train_loss", "grad_M"}


def is_read(metric: str) -> bool:
    """Whether the page needs a metric; the others are not kept in memory."""
    return metric in _READ or (metric.startswith("attention_") and metric.removeprefix("attention_").isdigit())
