"""Definition of a measure: a function from a view of one run to named scalars.

A view is plain data. Measures never call back into the model, so that any network can fill one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ..registry import Registry
from ..shapes import Bool, Float, Int

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Neurons, Output, Parameter
    from ..randomness import Key

measures: Registry[Callable[[View], dict[str, Tensor]]] = Registry("measure", "grokscope.measures")


class Side(NamedTuple):
    """A forward pass over the training or the test set."""

    out: Output
    loss: Float[Tensor, "example"]
    """The run's own loss."""
    accuracy: Float[Tensor, ""]
    """Fraction of correct answers; for regression R², the fraction of variance explained, at least 0."""
    labels: Int[Tensor, "example"] | Float[Tensor, "example"]
    informative: Bool[Tensor, "example position"] | None
    """Which tokens decide the answer; None if unknown."""

    @property
    def logits(self) -> Float[Tensor, "example class"]:
        """At the query."""
        return self.out.answers


class Starvation(NamedTuple):
    """The gradient that reaches attention through the task loss on the training set, and its bounds."""

    cross_entropy: Float[Tensor, "example"]
    """Cross-entropy of the answers, independent of the run's own loss."""
    logit_gradient: Float[Tensor, "example head position"]
    """∂CE/∂ℓ_j of each training example."""
    lipschitz: Float[Tensor, ""] | None
    """Upper bound on how fast the logits change with h; None, as the other norms, where nothing is known about the network."""
    value_norm: Float[Tensor, ""] | None
    """Upper bound on ‖W_V‖_op."""
    sensitivity: Float[Tensor, "example head position"] | None
    """s_j in ∂h/∂ℓ_j = s_j (v_j − h); α_j for softmax attention. None where ∂h/∂ℓ_j has another form: there is no bound then."""
    interaction_gradient: Float[Tensor, "head d d"] | None
    """∂CE/∂M of the mean cross-entropy; None where it is not known what queries and keys read."""
    embedding_norm: Float[Tensor, ""] | None
    """max_j‖e_j‖."""


class View(NamedTuple):
    """The data of one run at one evaluation."""

    parameters: dict[str, Parameter]
    """Shape, role and part of each weight."""
    weights: dict[str, Tensor]
    train: Side
    """With all details in its output."""
    test: Side
    prior_loss: Float[Tensor, ""]
    """β(t) · penalty on the training set."""
    starvation: Starvation | None = None
    """None for a model without attention."""
    neurons: Neurons | None = None
    """What the hidden neurons read and write; None if that is not defined."""
    validation: Side | None = None
    """None for a run without examples set aside for validation."""
    key: Key | None = None
    """Source of randomness for measures: a function of the run's seed and the step."""
