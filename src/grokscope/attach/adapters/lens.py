"""TransformerLens 4: the hook points `blocks.{i}.attn.hook_pattern` of a `TransformerBridge`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from ..sights import ScoreSight, Sight, WeightSight
from ..softmaxes import Softmaxes
from .base import Adapter, Layer, adapters

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ..passes import Eye

POINT = ".hook_pattern"


@adapters.register("transformer-lens")
class Lens(Adapter):
    """Reads the pattern of every block, and the logits before it from the softmax that made it."""

    alone: ClassVar[bool] = True

    @classmethod
    def find(cls, model: nn.Module) -> list[Layer]:
        return [
            Layer(name.removesuffix(POINT), type(point).__name__, getattr(bridge.cfg, "n_heads", None))
            for bridge, name, point in _points(model)
        ]

    @contextmanager
    def attached(self, model: nn.Module, eye: Eye) -> Iterator[None]:
        softmaxes = Softmaxes(eye)
        with ExitStack() as stack:
            for bridge, name, point in _points(model):
                hook = _Hook(eye, softmaxes, name.removesuffix(POINT), getattr(bridge.cfg, "d_head", None))
                stack.callback(point.register_forward_hook(hook).remove)
            yield


class _Hook:
    """Shows the pattern of one block to the eye."""

    def __init__(self, eye: Eye, softmaxes: Softmaxes, layer: str, width: int | None):
        self.eye, self.softmaxes, self.layer = eye, softmaxes, layer
        self.scale = width**-0.5 if width else None

    def __call__(self, point: nn.Module, args: Any, pattern: Tensor) -> Tensor:
        if self.eye.current is None:
            return pattern
        call = self.softmaxes.take()
        reads = self.eye.reads(len(pattern), pattern.shape[2], pattern.shape[3], self.layer)
        if call is not None and call.scores.shape == pattern.shape:
            sight: Sight = ScoreSight(self.layer, call.scores, scale=self.scale, reads=reads)
            self.eye.saw(sight, call.used)
            return pattern
        used = pattern.view_as(pattern)
        self.eye.saw(WeightSight(self.layer, pattern, scale=self.scale, reads=reads), used)
        return used


def _points(model: nn.Module) -> list[tuple[Any, str, nn.Module]]:
    """Each pattern in a model: its bridge, its name, its hook point; none if transformer-lens is not imported."""
    if "transformer_lens" not in sys.modules:
        return []
    from transformer_lens.model_bridge import TransformerBridge

    return [
        (bridge, name, point)
        for prefix, bridge in model.named_modules()
        if isinstance(bridge, TransformerBridge)
        for name, point in bridge.named_modules(prefix=prefix)
        if name.endswith(POINT)
    ]
