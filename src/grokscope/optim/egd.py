"""Egalitarian gradient descent (Pasand & Dohmatob 2025, arXiv 2510.04930): a matrix moves by the same amount along all singular
directions of its gradient.

G̃ = (G Gᵀ)^(−1/2) G = U Vᵀ for G = U Σ Vᵀ, in place of G. Everything else is SGD. What differs from the authors' code:

- It computes U Vᵀ by a singular value decomposition and raises values above 1e-6 alone; here eight Newton–Schulz iterations raise
  values above about 1/1000 of ‖G‖_F to 1, and smaller ones by a factor of about 3,000. They are matrix products, which a GPU
  computes for many runs at once.
- The authors transform the gradient of the first layer of an MLP, and of the MLPs of a transformer; here every weight whose role is
  `matrix` is transformed, embeddings and the unembedding are not.
- They return to SGD once test accuracy is above 95 %; here nothing depends on test examples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from .base import State, optimizers
from .muon import newton_schulz
from .sgd import SGD

if TYPE_CHECKING:
    from torch import Tensor

    from ..models.base import Role
    from ..randomness import Key
    from ..shapes import Float


@optimizers.register("egd")
@dataclass(frozen=True, kw_only=True)
class EGD(SGD):
    """m⁺ = μ m + polar(g + wd W);  W⁺ = W − η m⁺, where polar(U Σ Vᵀ) = U Vᵀ; SGD for embeddings and biases"""

    elementwise: ClassVar[bool] = False

    def update(
        self, weight: Tensor, grad: Tensor, state: State, *, role: Role, step: Tensor, lr: Tensor, key: Key
    ) -> tuple[Tensor, State]:
        gradient = grad + self.weight_decay * weight
        if role == "matrix":
            gradient = polar_factor(gradient)
        momentum = self.momentum * state["momentum"] + gradient
        return weight - lr * momentum, {"momentum": momentum}


def polar_factor(matrix: Float[Tensor, "... row column"]) -> Float[Tensor, "... row column"]:
    """U Vᵀ of matrix = U Σ Vᵀ: five Newton–Schulz iterations of Muon, which end near 1, and three that converge there.

    X ← (15 X − 10 (X Xᵀ) X + 3 (X Xᵀ)² X) / 8
    """
    x = newton_schulz(matrix)
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    for _ in range(3):
        gram = x @ x.mT
        x = (15 * x + (-10 * gram + 3 * gram @ gram) @ x) / 8
    return x.mT if tall else x
