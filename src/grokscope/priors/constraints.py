"""Constraints that fix one half of the network, to study the other half (structural inference, §6, App. F)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch

from ..settings import Settings, require
from ..shapes import Bool, Float
from ..theory import oracle_target, uniform_target

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Parameter
    from ..tasks import Examples


def oracle_by_head(informative: Bool[Tensor, "example position"]) -> Float[Tensor, "example head position"]:
    """All weight of head h on the h-th informative position; every example has as many of them."""
    order = informative.cumsum(-1) * informative  # 1, 2 … at the informative positions, 0 elsewhere
    heads = torch.arange(1, int(order.max()) + 1, device=informative.device)
    return (order.unsqueeze(-2) == heads[:, None]).float()


@dataclass(frozen=True, kw_only=True)
class Constraints(Settings):
    """Norm matching, a penalty on W_Q and W_K, and frozen attention; off by default."""

    norm: float = 0.0
    """Norm matching: after every step the MLP is projected onto the sphere of this radius; 0 disables it."""
    qk_penalty: float = 0.0
    """Factor of ‖W_Q‖² + ‖W_K‖² in the loss."""
    attention: Literal["learned", "oracle", "oracle-by-head", "uniform"] = "learned"
    """Freeze attention instead of learning it: at the oracle's weights in every head, at one informative position per head (the
    first head has the first of them), or at uniform weights."""

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
        frozen = {"frozen": self.attention != "learned", "by head": self.attention == "oracle-by-head"}
        return {"norm": self.norm > 0, "qk_penalty": self.qk_penalty > 0, **frozen}

    def frozen_attention(self, examples: Examples) -> Tensor | None:
        if self.attention == "learned":
            return None
        if self.attention == "oracle":
            return oracle_target(examples.marked)
        if self.attention == "oracle-by-head":
            return oracle_by_head(examples.marked)
        return uniform_target(examples.marked)

    def penalty(self, weights: dict[str, Tensor]) -> Tensor:
        squares = [w.square().sum() for name, w in weights.items() if name.startswith(("W_Q", "W_K"))]
        return self.qk_penalty * torch.stack(squares).sum()

    def project(self, weights: dict[str, Tensor], parameters: dict[str, Parameter]) -> dict[str, Tensor]:
        """The weights after norm matching."""
        mlp = [name for name, p in parameters.items() if p.part == "mlp"]
        norm = torch.stack([weights[name].norm() for name in mlp]).norm()
        return weights | {name: weights[name] * (self.norm / norm) for name in mlp}
