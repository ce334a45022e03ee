"""`nn.MultiheadAttention`, also inside `nn.TransformerEncoder` and `nn.TransformerDecoder`.

Their fast path, one fused operator for inference, is not taken while torch functions are intercepted. The function behind them is
called with its own code; only the names `scaled_dot_product_attention` and `softmax` in it are bound to functions that look on.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch.nn.functional as F
from torch import nn

from ..sights import ScoreSight
from .base import Adapter, Layer, adapters
from .sdpa import attention_seen

if TYPE_CHECKING:
    from torch import Tensor

    from ..passes import Eye


@adapters.register("multihead")
class Multihead(Adapter):
    """Sees `torch.nn.functional.multi_head_attention_forward`."""

    @classmethod
    def find(cls, model: nn.Module) -> list[Layer]:
        return [
            Layer(name, type(module).__name__, module.num_heads)
            for name, module in model.named_modules()
            if isinstance(module, nn.MultiheadAttention)
        ]

    @contextmanager
    def attached(self, model: nn.Module, eye: Eye) -> Iterator[None]:
        def handle(function: Any, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Any:
            heads = args[1] if len(args) > 1 else kwargs["num_heads"]
            reads = (_batch_first(query), _batch_first(key))

            def sdpa(*own: Any, **named: Any) -> Tensor:
                return attention_seen(eye, F.scaled_dot_product_attention, *own, reads=reads, **named)

            def softmax(scores: Tensor, dim: int) -> Tensor:
                """Where the weights are asked for: `scores` are [batch · head, query, position]."""
                used = scores.view_as(scores)
                split = scores.unflatten(0, (-1, heads))
                sight = ScoreSight(eye.layer, split, scale=(query.shape[-1] // heads) ** -0.5, reads=reads)
                eye.saw(sight, used)
                return F.softmax(used, dim)

            own = _rebound(F.multi_head_attention_forward, scaled_dot_product_attention=sdpa, softmax=softmax)
            return own(query, key, value, *args, **kwargs)

        eye.handlers[F.multi_head_attention_forward] = handle
        yield


def _rebound(function: Callable[..., Any], **names: Any) -> Callable[..., Any]:
    """The same code with other meanings of some global names."""
    assert isinstance(function, types.FunctionType)
    own = types.FunctionType(function.__code__, {**function.__globals__, **names}, function.__name__)
    own.__defaults__, own.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return own


def _batch_first(stream: Tensor) -> Tensor:
    """[batch position d] from [position batch d], or from [position d] without a batch."""
    return stream.transpose(0, 1) if stream.ndim == 3 else stream.unsqueeze(0)
