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
    return (side.answers.argmax(-1) == side.answer_labels).to(torch.float32).mean()
