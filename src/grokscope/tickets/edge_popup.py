"""Edge-popup (Ramanujan et al. 2020; grokking tickets, §5.2, App. H): every weight has a score, the highest scores of a
layer make the subnetwork, and the scores are trained through it as if the mask were the identity (straight-through).

The paper is silent about the rest. Scores start uniform in ±1/√d_in, are trained by the run's own optimizer at their own learning
rate, and are compared within each weight matrix. By default they do not decay and are ranked with their sign, as in App. H;
the authors' code decays them like weights (decay = 1) and ranks them by magnitude (rank_by = "magnitude").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch

from ..settings import require, setting
from ..theory import edge_popup_mask
from .base import FromRun, ParameterRate, Pruned, PrunedInit, PruningContext, Weights, tickets
from .trained import origin_of

if TYPE_CHECKING:
    from torch import Tensor

    from ..models import Parameter

PREFIX = "score/"


@tickets.register("edge-popup")
@dataclass(frozen=True, kw_only=True)
class EdgePopup(Pruned, FromRun):
    """Find a subnetwork of trained weights θ_t by training scores, with the weights frozen or trained as well."""

    weights: Literal["frozen", "trained"] = "frozen"
    """frozen: pruning alone (EP without weight decay); trained: weights are trained with decay (EP with weight decay)."""
    lr: float = 1e-2
    """Learning rate of the scores."""
    scores: Literal["random", "magnitude"] = "random"
    """Scores before the first step: random as in the paper, or |θ_t|, so that the subnetwork starts from the largest weights."""

    decay: float = setting(0.0, since=3)
    """Weight decay of the scores."""
    rank_by: Literal["score", "magnitude"] = setting("score", since=3)
    """Which scores are kept: the largest s, or the largest |s|; the gradient then passes through the absolute value."""

    HOST: ClassVar[tuple[str, ...]] = (*FromRun.HOST, "scores")

    def check(self) -> None:
        super().check()
        require(self.lr > 0, "lr", f"{self.lr} is not above 0")
        require(self.decay >= 0, "decay", f"{self.decay} is below 0")

    def structure(self) -> dict[str, Any]:
        fixed = ("rate", "weights", "lr", "decay", "rank_by")
        return {"kind": self.kind, **{name: getattr(self, name) for name in fixed}}

    def with_scores(self, parameters: dict[str, Parameter]) -> dict[str, Parameter]:
        scored = {PREFIX + name: p._replace(std=0.0) for name, p in parameters.items() if p.role != "bias"}
        return parameters | scored

    def draw(self, context: PruningContext) -> PrunedInit:
        trained = origin_of(context).trained
        scores = {PREFIX + name: self._first_scores(trained[name], context) for name in context.prunable()}
        return PrunedInit(trained | scores)

    def _first_scores(self, weight: Tensor, context: PruningContext) -> Tensor:
        if self.scores == "magnitude":
            return weight.abs()
        return (2 * torch.rand(weight.shape, generator=context.generator) - 1) / math.sqrt(weight.shape[0])

    def effective(self, weights: Weights) -> Weights:
        return {
            name: w * self._mask(weights[PREFIX + name]) if PREFIX + name in weights else w
            for name, w in weights.items()
            if not name.startswith(PREFIX)
        }

    def _mask(self, scores: Tensor) -> Tensor:
        return straight_through(scores.abs() if self.rank_by == "magnitude" else scores, self.rate)

    def rates(self, parameters: dict[str, Parameter]) -> dict[str, ParameterRate]:
        own = ParameterRate(lr=None if self.weights == "trained" else 0.0, weight_decay=None)
        scores = ParameterRate(lr=self.lr, weight_decay=self.decay)
        return {name: scores if name.startswith(PREFIX) else own for name in parameters}


def straight_through(scores: Tensor, rate: float) -> Tensor:
    """The mask of the highest scores as numbers; its gradient is passed to the scores unchanged."""
    fixed = scores.detach()
    return edge_popup_mask(fixed, rate).to(scores.dtype) + (scores - fixed)
