"""Lightning: a callback that opens a scope, makes its rows and closes it. Add the prior in your `training_step`.

scope = grokscope.watch(module.net, informative=mask, to="runs/mine")
module.scope = scope                      # training_step: loss + self.scope.prior(0.3)
Trainer(callbacks=[LightningGuide(scope)]).fit(module, loader)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    raise ConfigError("lightning", "lightning is not installed: pip install 'grokscope[lightning]'") from None

if TYPE_CHECKING:
    from .scope import Scope


class LightningGuide(Callback):  # type: ignore[misc]
    """One row per `every` optimizer steps of the scope."""

    def __init__(self, scope: Scope, evaluate: Callable[[], Mapping[str, Any]] | None = None):
        """evaluate   returns train_accuracy, test_accuracy and further columns; called only if a row is made"""
        self.scope, self.evaluate = scope, evaluate

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        if trainer.accumulate_grad_batches > 1:
            raise ConfigError("accumulate_grad_batches", "a scope measures one batch per step; set it to 1")
        if trainer.precision == "16-mixed":
            raise ConfigError("precision", "gradients are scaled by a changing factor; use bf16-mixed")
        self.scope.open()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        more = dict(self.evaluate()) if self.evaluate is not None and self.scope.due else {}
        loss = outputs["loss"] if isinstance(outputs, Mapping) else outputs
        self.scope.step(loss=loss, **more)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self.scope.close(exception)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if self.scope.is_open:
            self.scope.close()
