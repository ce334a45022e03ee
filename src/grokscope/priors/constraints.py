"""Constraints that fix one half of the network, to study the other half (structural inference, §6, App. F)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch

from ..settings import Settings, require
from ..theory import oracle_target, uniform_target

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Parameter
    from ..tasks import Examples


@dataclass(frozen=True, kw_only=True)
class Constraints(Settings):
    """Norm matching, a penalty on W_Q and W_K, and frozen attention; off by default."""

    norm: float = 0.0
    """Norm matching: after every step the MLP is projected onto the sphere of this radius; 0 disables it."""
    qk_penalty: float = 0.0
    """Factor of ‖W_Q‖² + ‖W_K‖² in the loss."""
    attention: Literal["learned", "oracle", "uniform"] = "learned"
    """Freeze attention at the oracle's or at uniform weights instead of learning it."""

    LANES: ClassVar[tuple[str, ...]] = ("norm", "qk_penalty")
    HOST: ClassVar[tuple[str, ...]] = ("attention",)

    def check(self) -> None:
        require(self.norm >= 0, "norm", f"{self.norm} is below 0")
        require(self.qk_penalty >= 0, "qk_penalty", f"{self.qk_penalty} is below 0")

    def check_model(self, parameters: dict[str, Parameter]) -> None:
        """Raise ConfigError if a constraint does not apply to the model."""
        has_mlp = any(p.part == "mlp" for p in parameters.values())
        require(self.norm == 0 or has_mlp, "norm", "this model has no MLP whose norm could be matched")
        require(self.qk_penalty == 0 or "W_Q" in parameters, "qk_penalty", "this model has no W_Q and W_K to penalise")

    def structure(self) -> dict[str, object]:
        return {"norm": self.norm > 0, "qk_penalty": self.qk_penalty > 0, "frozen": self.attention != "learned"}

    def frozen_attention(self, examples: Examples) -> Tensor | None:
        if self.attention == "learned":
            return None
        if self.attention == "oracle":
            return oracle_target(examples.marked)
        return uniform_target(examples.marked)

    def penalty(self, weights: dict[str, Tensor]) -> Tensor:
        squares = [w.square().sum() for name, w in weights.items() if name.startswith(("W_Q", "W_K"))]
        return self.qk_penalty * torch.stack(squares).sum()

    def project(self, weights: dict[str, Tensor], parameters: dict[str, Parameter]) -> dict[str, Tensor]:
        """The weights after norm matching."""
        mlp = [name for name, p in parameters.items() if p.part == "mlp"]
        norm = torch.stack([weights[name].norm() for name in mlp]).norm()
        return weights | {name: weights[name] * (self.norm / norm) for name in mlp}
