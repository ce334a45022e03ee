"""Which weights matter, before training: SNIP, GraSP, SynFlow, and edge-popup's scores (grokking tickets, App. G and H)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..shapes import Bool, Float
from .contracts import below_one, positive
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
    "App. G, R_SF",
    tex=r"R_{\mathrm{SF}} = 1^\top \left( \prod_{l=1}^{L} \lvert \theta^l \rvert \right) 1",
)
def synflow_objective(layers: Sequence[Tensor]) -> Tensor:
    """SynFlow's scalar: how much a positive signal gets through the absolute weights, without data.

    R_SF = 1ᵀ (Π_l |θ^l|) 1

    θ^l  layers  matrices from input to output, [... input output] each
    """
    signal = torch.ones_like(layers[0][..., :1, :1]).expand(*layers[0].shape[:-2], 1, layers[0].shape[-2])
    for layer in layers:
        signal = signal @ layer.abs()
    return signal.sum((-2, -1))


@equation(
    "grokking-tickets",
    "App. G, SynFlow",
    tex=r"S(\theta^l) = \frac{\partial R_{\mathrm{SF}}}{\partial \theta^l} \odot \theta^l",
)
def synflow_saliency(layers: Sequence[Tensor]) -> list[Tensor]:
    """SynFlow: the share of the signal that passes through each weight; in every layer the shares add up to R_SF.

    S(θ^l) = ∂R_SF/∂θ^l ⊙ θ^l = |θ^l| ⊙ (signal that arrives) (signal that goes on)ᵀ

    θ^l  layers  matrices from input to output, [... input output] each
    """
    sizes = [layer.abs() for layer in layers]
    arriving = [torch.ones_like(sizes[0][..., :1]).mT]
    for size in sizes[:-1]:
        arriving.append(arriving[-1] @ size)
    leaving = [torch.ones_like(sizes[-1][..., :1, :]).mT]
    for size in sizes[:0:-1]:
        leaving.insert(0, size @ leaving[0])
    return [size * (a.mT @ b.mT) for size, a, b in zip(sizes, arriving, leaving, strict=True)]


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

    s  scores  one an edge
    k  pruned  share of edges left out; the paper's App. H calls the kept share k, its §2 the pruned one
    """
    return top_share(scores.flatten(-2), pruned).unflatten(-1, scores.shape[-2:])


@equation("grokking-tickets", "App. H, forward", tex=r"I_j = \sum_{i} w_{ij} Z_i h(s_{ij})")
def edge_popup_input(
    outputs: Float[Tensor, "... example input"],
    weights: Float[Tensor, "... input output"],
    mask: Bool[Tensor, "... input output"],
) -> Float[Tensor, "... example output"]:
    """What reaches each neuron through the subnetwork.

    I_j = Σ_i w_ij Z_i h(s_ij)

    Z  outputs  of the neurons before
    w  weights  frozen
    h  mask     of the subnetwork
    """
    return outputs @ (weights * mask)


@equation(
    "grokking-tickets",
    "App. H, score",
    tex=r"s_{ij} \leftarrow s_{ij} - \alpha \frac{\partial L}{\partial I_j} Z_i w_{ij}",
)
def edge_popup_update(
    scores: Float[Tensor, "... input output"],
    weights: Float[Tensor, "... input output"],
    outputs: Float[Tensor, "... example input"],
    input_gradient: Float[Tensor, "... example output"],
    lr: Float[float, "", positive],
) -> Float[Tensor, "... input output"]:
    """Edge-popup's step: an edge rises when what it would carry lowers the loss, whether it is in the subnetwork or not.

    s_ij ← s_ij − α Σ_examples ∂L/∂I_j Z_i w_ij

    s        scores          one an edge
    w        weights         frozen
    Z        outputs         of the neurons before
    ∂L/∂I_j  input_gradient  with respect to what reaches the neuron
    α        lr              learning rate of the scores

    The gradient as if h were the identity (straight-through), summed over examples.
    """
    return scores - lr * (outputs.mT @ input_gradient) * weights
