"""One row of measurements: every registered measure of a view that is filled from a forward pass."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch

from ..measures import View, measures
from ..measures.base import Side, Starvation
from ..models import Output, Parameter
from ..randomness import Key
from ..theory import divergence, log_mean_attention, oracle_target
from ..theory.contracts import values_unread
from .attention import Attention
from .parts import MOST_WEIGHTS

if TYPE_CHECKING:
    from torch import Tensor

MOST_POSITIONS = 64
"""Positions of which each has a column of its own."""


class UnknownError(Exception):
    """A measure needs something that is not known of this network."""


def view_of(
    seen: Attention,
    weights: dict[str, Tensor],
    parameters: dict[str, Parameter],
    given: Mapping[str, float],
    *,
    seed: int,
    step: int,
    grad_scale: float = 1.0,
) -> View:
    """A view of a forward pass. What is not known of a foreign network is NaN or None.

    given        train_loss, train_accuracy, test_loss, test_accuracy, prior_loss; NaN where they are missing
    grad_scale   factor by which the loss was multiplied before its backward pass
    """

    def number(name: str) -> Tensor:
        return torch.tensor(float(given.get(name, math.nan)), device=seen.log.device)

    def side(name: str) -> Side:
        labels = torch.empty(0, dtype=torch.long, device=seen.log.device)
        return Side(out, number(f"{name}_loss")[None], number(f"{name}_accuracy"), labels, seen.informative)

    # the variance of logits is over all positions: unknown where some of them are masked
    scores = torch.where(seen.hidden.any(), math.nan, seen.scores)
    out = Output(_no_logits, attention=seen.log.exp(), log_attention=seen.log, attention_logits=scores)
    return View(
        parameters=parameters,
        weights=weights,
        train=side("train"),
        test=side("test"),
        prior_loss=number("prior_loss"),
        starvation=_starvation(seen, number("train_loss"), grad_scale),
        key=Key(torch.tensor(seed, device=seen.log.device), torch.tensor(step, device=seen.log.device)),
    )


def _no_logits() -> Tensor:
    raise UnknownError


def _starvation(seen: Attention, loss: Tensor, grad_scale: float) -> Starvation | None:
    """The gradient of the loss on the attention logits of the last layer. None without a backward pass.

    Gradients on earlier layers would contain that of a prior on later ones. The loss is taken to be a mean over sequences: the
    gradient of one example is as many times larger as there are sequences.
    """
    gradient = seen.last_gradient()
    if gradient is None:
        return None
    gradient = gradient / grad_scale
    reads, scale = seen.last.reads, seen.last.scale
    interaction = None
    if reads is not None and scale is not None:
        asking, read = (stream.detach().to(gradient) for stream in reads)
        keys = torch.einsum("bhqj,bjd->bqhd", gradient, read)
        at = asking.gather(1, seen.queries.rows.unsqueeze(-1).expand(-1, -1, asking.shape[-1]))
        interaction = scale * _outer_norms(seen.queries.flat(at), seen.queries.flat(keys))
    each = seen.queries.flat(gradient.transpose(1, 2)) * seen.sequences
    return Starvation(
        cross_entropy=loss.expand(len(each)),
        logit_gradient=each,
        lipschitz=None,
        value_norm=None,
        sensitivity=None,
        interaction_gradient=interaction,
        embedding_norm=None,
    )


def _outer_norms(asking: Tensor, keys: Tensor) -> Tensor:
    """‖Σ_n e_n k_nᵀ‖_F of each head [head 1 1], from [example d] and [example head d].

    From the products between examples where these are fewer than d: a matrix per head may be too large for a wide network.
    """
    if len(asking) <= asking.shape[1]:
        both = (asking @ asking.T)[None] * torch.einsum("nhd,mhd->hnm", keys, keys)
        return both.sum((1, 2)).clamp_min(0).sqrt()[:, None, None]
    return torch.einsum("nd,nhe->hde", asking, keys).flatten(1).norm(dim=1)[:, None, None]


def measured(view: View, seen: Attention) -> dict[str, float]:
    """Every registered measure that applies, as columns."""
    found: dict[str, Tensor] = {}
    with values_unread():  # a network that diverges is measured like any other
        for measure in measures.entries().values():
            with suppress(UnknownError):
                found |= measure(view)
        found |= _by_layer(seen)
    names = [name for name in found if not _dropped(name, seen, view)]
    values = torch.stack([found[name].detach().float().to(seen.log.device) for name in names]).tolist()
    return dict(zip(names, values, strict=True))


def _by_layer(seen: Attention) -> dict[str, Tensor]:
    """D of each layer, where there are several."""
    if seen.informative is None or len(seen.layers) == 1:
        return {}
    target, found, first = oracle_target(seen.informative), {}, 0
    for number, (_, heads) in enumerate(seen.layers):
        own = log_mean_attention(seen.log[:, first : first + heads])
        found[f"D_layer_{number}"] = divergence(target, own).mean()
        first += heads
    return found


def _dropped(name: str, seen: Attention, view: View) -> bool:
    """Whether a column is one of too many: of single positions, heads of several layers, or weights."""
    if name.startswith("attention_") and name[10:].isdigit():
        return seen.log.shape[-1] > MOST_POSITIONS
    if name.startswith("entropy_head_"):
        return len(seen.layers) > 1 or seen.log.shape[1] > MOST_POSITIONS
    return name.startswith("norm_") and len(view.weights) > MOST_WEIGHTS


def plain(value: Any) -> float:
    """A number from a number, a tensor with one element, or a function that returns one."""
    value = value() if callable(value) else value
    return float(value.detach()) if isinstance(value, torch.Tensor) else float(value)
