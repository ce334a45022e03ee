"""How well a run fits: loss and accuracy on training, test and validation examples, and the penalty of the prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import View, measures
from .validation import on_validation

if TYPE_CHECKING:
    from torch import Tensor


@measures.register("fit")
def fit(view: View) -> dict[str, Tensor]:
    found = {
        "train_loss": view.train.loss.mean(),
        "train_accuracy": view.train.accuracy,
        "test_loss": view.test.loss.mean(),
        "test_accuracy": view.test.accuracy,
        "prior_loss": view.prior_loss,
    }
    return found if view.validation is None else found | on_validation(view.validation)
