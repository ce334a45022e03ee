"""SynFlow of a chain of matrices, and a step of edge-popup by hand (grokking tickets, App. G and H)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ....shapes import Bool, Float
from ....theory.contracts import positive
from ....theory.equations import equation


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

    s        scores          one per edge
    w        weights         frozen
    Z        outputs         of the neurons before
    ∂L/∂I_j  input_gradient  with respect to what reaches the neuron
    α        lr              learning rate of the scores

    The gradient as if h were the identity (straight-through), summed over examples.
    """
    return scores - lr * (outputs.mT @ input_gradient) * weights
