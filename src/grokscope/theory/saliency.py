"""Which weights matter: SNIP, GraSP, and edge-popup's scores (grokking tickets, App. G and H)."""

from __future__ import annotations

from torch import Tensor

from ..shapes import Bool, Float
from .contracts import below_one
from .equations import equation
from .tickets import top_share


@equation("grokking-tickets", "App. G, S(θ)", tex=r"S(\theta) = \frac{\partial R}{\partial \theta} \odot \theta")
def synaptic_saliency(weight: Float[Tensor, "..."], gradient: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The common form of scores for pruning at initialisation: what removing a weight does to R, to first order.

    S(θ) = ∂R/∂θ ⊙ θ

    θ      weight    any tensor of weights
    ∂R/∂θ  gradient  of any scalar R of the network
    """
    return gradient * weight


@equation(
    "grokking-tickets", "App. G, SNIP", tex=r"S(\theta) = \lvert \frac{\partial L}{\partial \theta} \odot \theta \rvert"
)
def snip_saliency(weight: Float[Tensor, "..."], gradient: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """SNIP: keep the weights whose removal would change the loss, either way.

    S(θ) = |∂L/∂θ ⊙ θ|

    θ      weight    any tensor of weights
    ∂L/∂θ  gradient  of the training loss
    """
    return synaptic_saliency(weight, gradient).abs()


@equation(
    "grokking-tickets",
    "App. G, GraSP",
    tex=r"S(\theta) = -\left( H \frac{\partial L}{\partial \theta} \right) \odot \theta",
)
def grasp_saliency(weight: Float[Tensor, "..."], hessian_gradient: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GraSP: how much the removal of a weight would reduce the gradient flow.

    S(θ) = −(H ∂L/∂θ) ⊙ θ

    θ        weight            any tensor of weights
    H ∂L/∂θ  hessian_gradient  the Hessian times the gradient: half the gradient of ‖∂L/∂θ‖²

    GraSP removes the weights with the largest S, those without which the gradient would be larger.
    """
    return -hessian_gradient * weight


@equation(
    "grokking-tickets",
    "App. H, h(s)",
    tex=r"h(s_{ij}) = \mathbf{1} \left[ s_{ij} > s_{(kn)} \right]",
)
def edge_popup_mask(
    scores: Float[Tensor, "... input output"], pruned: Float[float, "", below_one]
) -> Bool[Tensor, "... input output"]:
    """Edge-popup's subnetwork: the edges of one layer with the highest scores.

    h(s_ij) = 1 if s_ij is among the (1 − k) highest of its layer, else 0

    s  scores  one per edge
    k  pruned  share of edges left out; the paper's App. H calls the kept share k, its §2 the pruned one
    """
    return top_share(scores.flatten(-2), pruned).unflatten(-1, scores.shape[-2:])
