"""The two-layer network of Kumar et al. (2023), which goes from lazy to rich training: units that are averaged, not weighted.

f(x) = (α/N) Σ_i φ(w_i · x), φ(h) = h + ε h²/2. The output scale α makes training lazy when it is large, and ε is how much of
the quadratic target the first features see: a small ε fits the training set with linear features first. The weights start
at N(0, 1), for inputs of length 1; the authors train with plain gradient descent at a rate of N/α².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..settings import require
from .base import Model, Output, Parameter, models

if TYPE_CHECKING:
    from torch import Tensor

    from ..tasks import Shape


@models.register("committee")
@dataclass(frozen=True, kw_only=True)
class Committee(Model):
    """The scaled mean of units φ(h) = h + ε h²/2 on a vector, for regression."""

    width: int = 500
    """N, the number of units."""
    alpha: float = 1.0
    """α, the scale of the output; larger is lazier."""
    epsilon: float = 0.25
    """ε, the weight of the quadratic term in a unit."""

    has_attention: ClassVar[bool] = False
    examplewise: ClassVar[bool] = True

    def check(self) -> None:
        require(self.width >= 1, "width", f"{self.width} is below 1")
        require(self.alpha > 0, "alpha", f"{self.alpha} is not above 0")

    def check_task(self, shape: Shape) -> None:
        require(shape.features > 0, "kind", "committee reads vectors, and this task has tokens")
        require(shape.regression, "kind", "committee has one real-valued output, and this task has classes")

    def parameters(self, shape: Shape) -> dict[str, Parameter]:
        return {"W": Parameter((shape.features, self.width), "matrix", 1.0, "mlp")}

    def forward(self, weights: dict[str, Tensor], inputs: Tensor, **how: Any) -> Output:
        W = weights["W"]
        linear = inputs @ W.sum(1, keepdim=True)  # the sum of all units' h, without computing each
        squares = (inputs @ W).square().sum(-1, keepdim=True)
        return Output(self.alpha / self.width * (linear + 0.5 * self.epsilon * squares))
