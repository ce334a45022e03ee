"""How well a run fits: loss and accuracy on training and test examples, and what the prior adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .base import Side, View, measures

if TYPE_CHECKING:
    from torch import Tensor


@measures.register("fit")
def fit(view: View) -> dict[str, Tensor]:
    return {
        "train_loss": view.train.loss.mean(),
        "train_accuracy": accuracy(view.train),
        "test_loss": view.test.loss.mean(),
        "test_accuracy": accuracy(view.test),
        "prior_loss": view.prior_loss,
    }


def accuracy(side: Side) -> Tensor:
    """Share of right answers; for regression R², the share of the answers' variance that is explained, at least 0."""
    if side.answer_labels.is_floating_point():
        labels = side.answer_labels
        unexplained = (side.answers.squeeze(-1) - labels).square().mean()
        return torch.clamp(1 - unexplained / (labels - labels.mean()).square().mean(), min=0.0)
    return (side.answers.argmax(-1) == side.answer_labels).to(torch.float32).mean()
