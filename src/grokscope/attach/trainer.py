"""Hugging Face Trainer: a loss with the prior (`compute_loss_func`) and a callback that makes the rows.

with grokscope.watch(model, informative=mask, to="runs/mine") as scope:
    guide = TrainerGuide(scope, beta=0.3, loss=my_loss)
    Trainer(model, arguments, train_dataset=…, compute_loss_func=guide.loss, callbacks=[guide]).train()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..priors import Prior

try:
    from transformers import TrainerCallback
except ImportError:
    raise ConfigError("trainer", "transformers is not installed: pip install 'grokscope[hf]'") from None

if TYPE_CHECKING:
    from torch import Tensor

    from .scope import Scope


class TrainerGuide(TrainerCallback):  # type: ignore[misc]
    """Give it to a Trainer twice: as a callback, and its `loss` as `compute_loss_func`."""

    def __init__(
        self,
        scope: Scope,
        *,
        beta: float | Prior = 0.0,
        loss: Callable[..., Tensor] | None = None,
        evaluate: Callable[[], Mapping[str, Any]] | None = None,
    ):
        """
        beta       strength of the prior, or a prior
        loss       from outputs, labels and num_items_in_batch to the loss without the prior; by default the model's own
        evaluate   returns train_accuracy, test_accuracy and further columns; called only if a row is made
        """
        self.scope, self.beta, self.own, self.evaluate = scope, beta, loss, evaluate
        self._loss: Tensor | None = None
        self._opened = False

    def loss(self, outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Tensor:
        if self.own is not None:
            task = self.own(outputs, labels, num_items_in_batch=num_items_in_batch)
        elif labels is None:
            task = outputs["loss"]
        else:
            model: Any = self.scope.model
            vocabulary = outputs["logits"].shape[-1]
            task = model.loss_function(
                outputs["logits"], labels, vocab_size=vocabulary, num_items_in_batch=num_items_in_batch
            )
        if not self.scope.model.training:  # Trainer evaluates with the same function
            return task
        total = task + self.scope.prior(self.beta)
        self._loss = total.detach()
        return total

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if args.gradient_accumulation_steps > 1:
            raise ConfigError("gradient_accumulation_steps", "a scope measures one batch per step; set it to 1")
        if args.fp16:
            raise ConfigError("fp16", "gradients are scaled by a changing factor; use bf16")
        if not self.scope.is_open:
            self.scope.open()
            self._opened = True

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        more = dict(self.evaluate()) if self.evaluate is not None and self.scope.due else {}
        self.scope.step(loss=self._loss, **more)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._opened:
            self.scope.close()
            self._opened = False
