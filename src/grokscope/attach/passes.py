"""Forward passes of a watched model: when one begins and ends, which module is at work, and what attention was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ..errors import ConfigError
from .interception import Handler, Interception
from .projections import Frame, handlers
from .sights import ProductSight, Sight

if TYPE_CHECKING:
    from torch import Tensor
    from torch.utils.hooks import RemovableHandle


@dataclass(eq=False)
class Pass:
    """One forward pass."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    """What the model was called with."""
    sights: list[Sight] = field(default_factory=list)
    """Attention in the order of the calls."""
    shown: list[Sight] = field(default_factory=list)
    """What `Scope.see` was given: it takes the place of what was found."""
    has_gradient: bool = False
    """Whether gradients were enabled."""
    due: bool = False
    """Whether the gradient on attention is kept."""

    @property
    def used(self) -> list[Sight]:
        """What was shown, or else what was found."""
        return self.shown or self.sights

    @property
    def device(self) -> torch.device:
        return self.used[0].device

    @property
    def batch(self) -> Any:
        """The batch as one object: a single positional argument, the keyword arguments as a dict, or all positional arguments."""
        if not self.args:
            return self.kwargs
        return self.args[0] if len(self.args) == 1 and not self.kwargs else (*self.args, self.kwargs)

    @property
    def tokens(self) -> Tensor | None:
        """The first integer tensor [batch position] among the arguments; `input_ids` if there is one."""
        given = [self.kwargs.get("input_ids"), *self.args, *self.kwargs.values()]
        found = (a for a in given if isinstance(a, torch.Tensor) and a.ndim == 2 and not a.is_floating_point())
        return next((a for a in found if a.dtype != torch.bool), None)


class Eye:
    """Follows the forward passes of one model."""

    def __init__(self, model: nn.Module, is_due: Callable[[], bool], keeps_gradients: bool = True):
        """
        is_due            whether the gradient on attention will be measured in the pass that begins
        keeps_gradients   whether sights keep the gradient of the backward pass; if not, `shift` may bring it about otherwise
        """
        self.model = model
        self.is_due = is_due
        self.keeps_gradients = keeps_gradients
        self.shift: Callable[[ProductSight, Tensor], Tensor] = lambda sight, out: out
        """Changes the output of an attention call."""
        self.handlers: dict[Callable[..., Any], Handler] = handlers(self._multiplied)
        """Torch functions that are intercepted; adapters add theirs."""
        self.names = {module: name for name, module in model.named_modules()}
        self.current: Pass | None = None
        """The pass that is under way; None between passes, and while a checkpointed block is recomputed."""
        self.last: Pass | None = None
        """The last pass that was completed."""
        self.last_trained: Pass | None = None
        """The last one with gradients; None once it has been measured."""
        self._depth = 0
        self._stack: list[Frame] = []
        self._mode: Interception | None = None
        self._handles: list[RemovableHandle] = []

    def open(self) -> None:
        self._handles += [
            self.model.register_forward_pre_hook(self._begin, prepend=True, with_kwargs=True),
            self.model.register_forward_hook(self._end, always_call=True),
        ]
        for module, name in self.names.items():
            if _may_call_attention(module):
                self._handles += [
                    module.register_forward_pre_hook(_Entering(self, name)),
                    module.register_forward_hook(self._leave, always_call=True),
                ]

    def close(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._stop()

    # ── called by adapters ───────────────────────────────────────────────────────────────────────────────────

    @property
    def layer(self) -> str:
        """Name of the module at work."""
        return self._stack[-1].name if self._stack else ""

    def reads(self, batch: int, queries: int, positions: int, layer: str | None = None) -> tuple[Tensor, Tensor] | None:
        """What queries and keys are made from; None if that is not one tensor.

        layer   the module that makes them; by default the one at work
        """
        frame = self._frame(self.layer if layer is None else layer)
        return frame.reads(batch, queries, positions) if frame is not None else None

    def saw(self, sight: Sight, gradient_of: Tensor, shown: bool = False) -> None:
        """Add a sight to the pass. The gradient on `gradient_of` is what its `score_gradient` is computed from.

        shown   it was given by the user, and takes the place of what adapters found
        """
        seen = self.current or (self.last if shown else None)
        if seen is None:
            return
        if seen.due and self.keeps_gradients:
            sight.keep_gradient(gradient_of)
        if (frame := self._frame(sight.layer)) is not None:
            sight.projections = frame.attend()
        (seen.shown if shown else seen.sights).append(sight)

    def _frame(self, layer: str) -> Frame | None:
        return next((frame for frame in reversed(self._stack) if frame.name == layer), None)

    def _multiplied(self, given: Tensor, weight: Tensor) -> None:
        if self.current is not None and self.current.due:
            for frame in self._stack:
                frame.multiply(given, weight)

    # ── hooks ────────────────────────────────────────────────────────────────────────────────────────────────

    def _begin(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if torch.compiler.is_compiling():
            raise ConfigError("model", "torch.compile cannot trace a watched model; watch it without compiling")
        self._depth += 1
        if self._depth > 1:
            return
        self.last = None  # its tensors are not needed while the next pass is computed
        enabled = torch.is_grad_enabled()
        if enabled and not self._measurable():
            self.last_trained = None
        self.current = Pass(
            args, kwargs, has_gradient=enabled, due=(enabled or not self.keeps_gradients) and self.is_due()
        )
        self._mode = Interception(self.handlers)
        self._mode.__enter__()

    def _end(self, model: nn.Module, args: Any, out: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.last = self.current
            if self.current is not None and self.current.has_gradient and not self._measurable():
                self.last_trained = self.current
            self._stop()

    def _measurable(self) -> bool:
        """Whether there is a pass whose gradients have arrived: an evaluation after it does not take its place."""
        return self.last_trained is not None and any(sight.gradient_arrived for sight in self.last_trained.used)

    def _stop(self) -> None:
        self.current, self._depth = None, 0
        self._stack.clear()
        if self._mode is not None:
            self._mode.__exit__(None, None, None)
            self._mode = None

    def _leave(self, module: nn.Module, args: Any, out: Any) -> None:
        if self.current is not None and self._stack:
            self._stack.pop()


class _Entering:
    """Notes that a module begins its work."""

    def __init__(self, eye: Eye, name: str):
        self.eye, self.name = eye, name

    def __call__(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        if self.eye.current is not None:
            self.eye._stack.append(Frame(self.name))


def _may_call_attention(module: nn.Module) -> bool:
    """Whether a module may call attention itself: layers of torch.nn without children do not."""
    return any(module.children()) or not type(module).__module__.startswith("torch.nn.")
