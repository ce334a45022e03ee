"""How well a run fits: loss and accuracy on training, test and validation examples, and the penalty of the prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import View, measures
from .validation import on_validation

if TYPE_CHECKING:
    from torch import Tensor


@measures.register("fit")
def fit(view: View) -> dict[str, Tensor]:
    """How well a run fits its training and test examples.

    train_loss             mean of the run's own loss over the training examples, without the prior
    train_accuracy         fraction of training examples that are answered correctly; for regression R², at least 0
    test_loss              the loss on the test examples
    test_accuracy          the accuracy on the test examples
    prior_loss             β(t) times the penalty of the prior, on the training examples
    val_loss               the loss on the examples set aside for validation (`task.validation`)
    val_accuracy           the accuracy on those
    val_calibrated_loss    the least loss on those that the answers allow: at the best temperature and share of uniform answers
    val_calibrated_error   standard error of the mean of val_calibrated_loss
    """
    found = {
        "train_loss": view.train.loss.mean(),
        "train_accuracy": view.train.accuracy,
        "test_loss": view.test.loss.mean(),
        "test_accuracy": view.test.accuracy,
        "prior_loss": view.prior_loss,
    }
    return found if view.validation is None else found | on_validation(view.validation)
