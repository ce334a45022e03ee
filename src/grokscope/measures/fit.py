"""How well a run fits: loss and accuracy on training and test examples, and the penalty of the prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import View, measures

if TYPE_CHECKING:
    from torch import Tensor


@measures.register("fit")
def fit(view: View) -> dict[str, Tensor]:
    return {
        "train_loss": view.train.loss.mean(),
        "train_accuracy": view.train.accuracy,
        "test_loss": view.test.loss.mean(),
        "test_accuracy": view.test.accuracy,
        "prior_loss": view.prior_loss,
    }
