"""Gradient filters: transformations of a run's gradient before clipping and the optimizer.

Grokfast (Lee et al. 2024) amplifies the slow part of the gradient; OrthoGrad (Prieto et al. 2025) removes the part that only
rescales the weights. Both follow their authors' published code; the one deviation is noted at OrthoGrad.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from ..registry import Registry
from ..settings import Settings, require
from .base import State

if TYPE_CHECKING:
    from torch import Tensor

filters: Registry[type[Filter]] = Registry("filter", "grokscope.optim")


@dataclass(frozen=True, kw_only=True)
class Filter(Settings):
    """Base of all filters: a pure function of one weight's gradient, written for one run."""

    elementwise: ClassVar[bool] = True
    """If True, every entry is filtered independently, so the fleet may pass all weights of a run as one vector."""

    def init(self, weight: Tensor) -> State:
        """The state before the first step."""
        raise NotImplementedError

    def apply(self, weight: Tensor, grad: Tensor, state: State, step: Tensor) -> tuple[Tensor, State]:
        """The gradient to use, and the new state. `step` counts from 1."""
        raise NotImplementedError


@filters.register("none")
@dataclass(frozen=True, kw_only=True)
class NoFilter(Filter):
    """The unfiltered gradient."""

    def init(self, weight: Tensor) -> State:
        return {}

    def apply(self, weight: Tensor, grad: Tensor, state: State, step: Tensor) -> tuple[Tensor, State]:
        return grad, state


@filters.register("grokfast-ema")
@dataclass(frozen=True, kw_only=True)
class GrokfastEMA(Filter):
    """g⁺ = g + λ m, m = α m + (1 − α) g, where m starts as the first gradient"""

    alpha: float = 0.98
    """α, decay of the mean of gradients."""
    lamb: float = 2.0
    """λ, how strongly the mean is added."""

    LANES: ClassVar[tuple[str, ...]] = ("alpha", "lamb")

    def check(self) -> None:
        require(0 <= self.alpha < 1, "alpha", f"{self.alpha} is outside [0, 1)")
        require(self.lamb >= 0, "lamb", f"{self.lamb} is below 0")

    def init(self, weight: Tensor) -> State:
        return {"mean": torch.zeros_like(weight)}

    def apply(self, weight: Tensor, grad: Tensor, state: State, step: Tensor) -> tuple[Tensor, State]:
        before = torch.where(step == 1, grad, state["mean"])
        mean = self.alpha * before + (1 - self.alpha) * grad
        return grad + self.lamb * mean, {"mean": mean}


@filters.register("grokfast-ma")
@dataclass(frozen=True, kw_only=True)
class GrokfastMA(Filter):
    """g⁺ = g + λ · mean of the last `window` gradients, this one included; g⁺ = g until there are so many

    The window is summed afresh at every step: a running sum would keep the rounding of the large early gradients, and
    those of the plateau are smaller than that. It costs the memory of `window` copies of the weights.
    """

    window: int = 100
    """Gradients in the mean."""
    lamb: float = 5.0
    """λ, how strongly the mean is added."""

    LANES: ClassVar[tuple[str, ...]] = ("lamb",)

    def check(self) -> None:
        require(self.window >= 1, "window", f"{self.window} is below 1")
        require(self.lamb >= 0, "lamb", f"{self.lamb} is below 0")

    def init(self, weight: Tensor) -> State:
        return {"window": weight.new_zeros(self.window, *weight.shape)}

    def apply(self, weight: Tensor, grad: Tensor, state: State, step: Tensor) -> tuple[Tensor, State]:
        slots = torch.arange(self.window, device=grad.device).view(-1, *[1] * grad.dim())
        window = torch.where(slots == step % self.window, grad, state["window"])
        slow = torch.where(step >= self.window, self.lamb * window.mean(0), torch.zeros_like(grad))
        return grad + slow, {"window": window}


@filters.register("orthograd")
@dataclass(frozen=True, kw_only=True)
class OrthoGrad(Filter):
    """g⊥ = g − (⟨W, g⟩ / ⟨W, W⟩) W;  g⁺ = g⊥ ‖g‖ / ‖g⊥‖, a whole tensor at a time

    Deviation: where g lies along W up to rounding, g⁺ is 0; the authors' code would blow the rounding up to ‖g‖.
    """

    elementwise: ClassVar[bool] = False

    def init(self, weight: Tensor) -> State:
        return {}

    def apply(self, weight: Tensor, grad: Tensor, state: State, step: Tensor) -> tuple[Tensor, State]:
        # 1e-30 keeps a weight of zeros (a fresh bias) from dividing by zero; its gradient passes unchanged.
        along = (weight * grad).sum() / ((weight * weight).sum() + 1e-30)
        across = grad - along * weight
        norm, across_norm = torch.linalg.vector_norm(grad), torch.linalg.vector_norm(across)
        rounding = 10 * torch.finfo(grad.dtype).eps * norm
        # Written so that NaN is not mistaken for rounding: divergence must be detected.
        scale = torch.where(across_norm <= rounding, torch.zeros_like(norm), norm / (across_norm + 1e-30))
        return across * scale, state
