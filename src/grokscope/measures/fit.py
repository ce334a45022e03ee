"""How well a run fits: loss and accuracy on training, test and validation examples, and the penalty of the prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import View, measures

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
    if view.validation is not None:
        loss = view.validation.loss
        found |= {"val_loss": loss.mean(), "val_accuracy": view.validation.accuracy}
        # the standard error of the mean loss, by which races tell a difference from chance
        found["val_loss_error"] = loss.std(correction=0) / max(len(loss) - 1, 1) ** 0.5
    return found
