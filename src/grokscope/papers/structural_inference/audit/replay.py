"""A checkpoint, evaluated again: what Thm 4.3 calls c, L_max and Δ_emb, and the attention of the network, as numbers.

All in float64. With several heads attention is their mean and γ is divided by their number: Eq. 16 adds up over heads, so
Σ_heads (α_j + α'_j) ≥ c / (L_max Δ_emb) (Conj. E.2). With one head that is the paper's γ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from ....priors.base import pooled_log_attention
from ....tasks import Examples
from ....theory import divergence, least_mass, oracle_target
from ..equations import centroid, necessary_divergence, output_separation, sampled_lipschitz, threshold

if TYPE_CHECKING:
    from torch import Tensor

    from ....models import Output
    from ....run import Network
    from .pairs import Pairs

CHUNK = 4096


@dataclass(frozen=True, kw_only=True)
class Replay:
    """One checkpoint of one run."""

    epoch: int
    accuracy: float
    """On the test set."""
    margin: float
    """c: least distance between the outputs of two inputs of a pair."""
    lipschitz: float
    """Upper bound on L_max, from the weights."""
    lipschitz_sampled: float
    """Lower bound on L_max: the fastest change between any two inputs that were compared."""
    spread: float
    """Δ_emb: largest distance, over pairs, of the value at the differing position from the centroid of the others."""
    heads: int
    pair_least: float
    """Least α_j + α'_j over pairs."""
    mass_worst: float
    """Least attention on an informative position of a test input."""
    divergence_worst: float
    """Largest D of a test input."""

    @property
    def gamma(self) -> float | None:
        """γ with the upper bound on L_max; None where c, L_max or Δ_emb is 0."""
        return self._gamma(self.lipschitz)

    @property
    def gamma_sampled(self) -> float | None:
        """γ with the sampled L_max: no true L_max allows a larger one."""
        return self._gamma(self.lipschitz_sampled)

    def _gamma(self, lipschitz: float) -> float | None:
        if not min(self.margin, lipschitz, self.spread) > 0:
            return None
        return threshold(*_numbers(self.margin, lipschitz, self.spread)).item() / self.heads


def delta_nec(informative: int, gamma: float) -> float:
    """δ_nec of k informative positions, Cor. 4.5."""
    return necessary_divergence(torch.ones(informative, dtype=torch.bool), *_numbers(gamma)).item()


@torch.no_grad()
def replay(network: Network, epoch: int, pairs: Pairs) -> Replay:
    """Measure one checkpoint on the test set and on pairs."""
    network, inputs = network.double(), pairs.inputs
    mine = network(inputs, detail=True)
    assert mine.attention is not None
    heads = mine.attention.shape[1]
    margin, spread, pair_least, steepest = math.inf, 0.0, math.inf, 0.0
    for first, tokens, position in zip(
        *(t.split(CHUNK) for t in (pairs.first, pairs.tokens, pairs.position)), strict=True
    ):
        other = network(Examples(tokens, inputs.labels[first], inputs.marked[first]), detail=True)
        one = mine[first]
        margin = min(margin, output_separation(one.answers, other.answers).min().item())
        spread = max(spread, _gap(one, position).max().item(), _gap(other, position).max().item())
        pair_least = min(pair_least, (_mass(one, position) + _mass(other, position)).min().item())
        steepest = max(steepest, _steepest(one, other))
    log_attention = pooled_log_attention(mine)
    return Replay(
        epoch=epoch,
        accuracy=(mine.answers.argmax(-1) == inputs.labels).double().mean().item(),
        margin=margin,
        lipschitz=network.config.model.lipschitz(network.weights).item(),
        lipschitz_sampled=max(steepest, _steepest(mine, mine[torch.arange(len(inputs.inputs)).roll(1)])),
        spread=spread,
        heads=heads,
        pair_least=pair_least,
        mass_worst=least_mass(log_attention.exp(), inputs.marked).min().item(),
        divergence_worst=divergence(oracle_target(inputs.marked, torch.float64), log_attention).max().item(),
    )


def _mass(out: Output, position: Tensor) -> Tensor:
    """α_j, the mean of all heads."""
    assert out.attention is not None
    return out.attention.mean(1).gather(1, position[:, None]).squeeze(1)


def _gap(out: Output, position: Tensor) -> Tensor:
    """‖v_j − μ‖ in each head. The weights of the other positions are formed without α_j: it may be 1 to rounding."""
    assert out.values is not None
    assert out.attention is not None and out.log_attention is not None
    length = out.attention.shape[-1]
    here = (position[:, None] == torch.arange(length))[:, None]
    others = out.log_attention.masked_fill(here, -math.inf).softmax(-1)
    where = position[:, None].expand(others.shape[:2])
    value = out.values.take_along_dim(where[..., None, None], 2).squeeze(2)
    return (value - centroid(others, out.values, where)).norm(dim=-1)


def _steepest(one: Output, other: Output) -> float:
    """Fastest change of the logits with h between two sets of inputs, where h changes by more than rounding."""
    assert one.pooled is not None and other.pooled is not None
    h, other_h = one.pooled.flatten(1), other.pooled.flatten(1)
    moved = (h - other_h).norm(dim=-1) > 1e-9 * h.norm(dim=-1)
    if not moved.any():
        return 0.0
    return sampled_lipschitz(h[moved], other_h[moved], one.answers[moved], other.answers[moved]).max().item()


def _numbers(*values: float) -> list[Tensor]:
    return [torch.tensor(value, dtype=torch.float64) for value in values]
