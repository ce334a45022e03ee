"""What a measure is: a function from a view of one run to named scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ..registry import Registry
from ..shapes import Bool, Float

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Model, Output, Parameter

measures: Registry[Callable[[View], dict[str, Tensor]]] = Registry("measure", "grokscope.measures")


class Side(NamedTuple):
    """A forward pass over the training or the test set."""

    out: Output
    loss: Float[Tensor, "example"]
    """The run's own loss."""
    accuracy: Float[Tensor, ""]
    """Share of right answers; for regression R², the share of the answers' variance that is explained, at least 0."""
    informative: Bool[Tensor, "example position"] | None
    logits: Callable[[], Tensor]
    """Computes what `answers` gives."""

    @property
    def answers(self) -> Float[Tensor, "example class"]:
        """Logits at the query. No measure of ours needs them, so that most runs compute them only when asked for."""
        return self.logits()


class Starvation(NamedTuple):
    """What reaches attention through the task loss, on the training set, and what bounds it."""

    cross_entropy: Float[Tensor, "example"]
    """Of the answers, whatever the run's own loss is."""
    logit_gradient: Float[Tensor, "example head position"]
    """∂CE/∂ℓ_j of each training example."""
    lipschitz: Float[Tensor, ""]
    """Upper bound on how fast the logits change with h."""
    interaction_gradient: Float[Tensor, "head d d"]
    """∂CE/∂M of the mean cross-entropy."""
    embedding_norm: Float[Tensor, ""]
    """max_j‖e_j‖."""


class View(NamedTuple):
    """All that is known of one run at one moment."""

    model: Model
    parameters: dict[str, Parameter]
    weights: dict[str, Tensor]
    train: Side
    """With all details in its output."""
    test: Side
    prior_loss: Float[Tensor, ""]
    """β(t) · penalty on the training set."""
    starvation: Starvation | None = None
    """None for a model without attention."""
