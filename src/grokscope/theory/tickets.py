"""Lottery tickets: masks, how far apart they are, and dense networks of the same norm (grokking tickets, §2, §3.1, §4.1, §5.1)."""

from __future__ import annotations

import torch
from torch import Tensor

from ..shapes import Bool, Float
from .contracts import Number, below_one, nonnegative, positive
from .equations import equation


@equation("grokking-tickets", "§3.1, τ_grok", tex=r"\tau_{\mathrm{grok}} = \frac{t_{\mathrm{gen}}}{t_{\mathrm{mem}}}")
def grokking_ratio(generalised: Float[Number, "...", nonnegative], memorised: Float[Number, "...", positive]) -> Number:
    """How many times longer generalising takes than memorising.

    τ_grok = t_gen / t_mem

    t_gen  generalised  step at which the test accuracy passes 95 %
    t_mem  memorised    step at which the training accuracy does

    The paper's App. M writes the ratio the other way round; its figures follow §3.1.
    """
    return generalised / memorised


@equation(
    "grokking-tickets",
    "§2, mask",
    tex=r"m_i = \mathbf{1} \left[ \lvert \theta_i \rvert > \lvert \theta \rvert_{(kn)} \right]",
)
def magnitude_mask(
    weights: Float[Tensor, "... weight"], pruned: Float[float, "", below_one]
) -> Bool[Tensor, "... weight"]:
    """The ticket: which weights survive when a share k of them is pruned by magnitude.

    m_i = 1 if |θ_i| is among the (1 − k) n largest, else 0

    θ  weights  of one layer, or of all
    k  pruned   share that is pruned

    Exactly round(kn) of the n weights go; |θ|_(kn) is the largest of them, and of equals the later ones go.
    """
    return top_share(weights.abs(), pruned)


def top_share(scores: Float[Tensor, "... weight"], pruned: float) -> Bool[Tensor, "... weight"]:
    """True for all but the share `pruned` with the lowest scores; of equals the first stay."""
    kept = scores.shape[-1] - round(pruned * scores.shape[-1])
    order = scores.argsort(dim=-1, descending=True, stable=True)
    return torch.zeros_like(scores, dtype=torch.bool).scatter(-1, order[..., :kept], True)


@equation(
    "grokking-tickets", "§4.1, r_p", tex=r"r_p = \frac{\lVert \theta_0 \odot m \rVert_p}{\lVert \theta_0 \rVert_p}"
)
def norm_ratio(
    weights: Float[Tensor, "... weight"], mask: Bool[Tensor, "... weight"], p: Float[float, "", positive]
) -> Float[Tensor, "..."]:
    """How much of its norm a network keeps when it is masked.

    r_p = ‖θ₀ ⊙ m‖_p / ‖θ₀‖_p

    θ₀  weights  at initialisation
    m   mask     of the ticket
    p   p        which norm; the paper takes 1 and 2
    """
    return (weights * mask).norm(p, dim=-1) / weights.norm(p, dim=-1)


@equation("grokking-tickets", "§4.1, controlled dense", tex=r"\theta_{\mathrm{dense}} = r_p \theta_0")
def controlled_dense(
    weights: Float[Tensor, "... weight"], mask: Bool[Tensor, "... weight"], p: Float[float, "", positive]
) -> Float[Tensor, "... weight"]:
    """The control for small weights: the dense network, scaled to the norm of the ticket.

    θ = r_p θ₀

    θ₀  weights  at initialisation
    m   mask     of the ticket
    p   p        which norm is matched
    """
    return norm_ratio(weights, mask, p).unsqueeze(-1) * weights


@equation(
    "grokking-tickets",
    "§5.1, JD",
    tex=r"\mathrm{JD}(m, m^\prime) = 1 - \frac{\lvert m \cap m^\prime \rvert}{\lvert m \cup m^\prime \rvert}",
)
def jaccard_distance(mask: Bool[Tensor, "... weight"], other_mask: Bool[Tensor, "... weight"]) -> Float[Tensor, "..."]:
    """How different two masks are: 0 for the same, 1 for masks with nothing in common.

    JD(m, m') = 1 − |m ∩ m'| / |m ∪ m'|

    m   mask        at one epoch
    m'  other_mask  at another

    Two empty masks are the same.
    """
    shared, either = (mask & other_mask).sum(-1), (mask | other_mask).sum(-1)
    return torch.where(either > 0, 1 - shared / either.clamp_min(1), 0.0)
