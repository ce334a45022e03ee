"""Networks that call `torch.nn.functional.scaled_dot_product_attention`. It returns no weights: they are recomputed for the queries
that are asked for."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch.nn.functional as F
from torch._C._functorch import maybe_current_level

from ..sights import ProductSight
from .base import Adapter, Layer, adapters

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ..passes import Eye


@adapters.register("sdpa")
class Sdpa(Adapter):
    """Seen while it is called, so that it does not matter how the network imports it."""

    @classmethod
    def find(cls, model: nn.Module) -> list[Layer]:
        return [
            Layer(name, type(module).__name__, getattr(module, "n_head", getattr(module, "num_heads", None)))
            for name, module in model.named_modules()
            if "scaled_dot_product_attention" in _source(type(module))
        ]

    @contextmanager
    def attached(self, model: nn.Module, eye: Eye) -> Iterator[None]:
        def handle(function: Any, *args: Any, **kwargs: Any) -> Tensor:
            return attention_seen(eye, function, *args, **kwargs)

        eye.handlers[F.scaled_dot_product_attention] = handle
        yield


def attention_seen(
    eye: Eye,
    function: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
    reads: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """Call `function`, which has the arguments of `scaled_dot_product_attention`, and show its attention to the eye."""
    sight = None
    if query.ndim in (3, 4):
        # without an axis of heads there is one head
        q, k, v = (t if t.ndim == 4 else t.unsqueeze(1) for t in (query, key, value))
        mask = attn_mask.unsqueeze(1) if attn_mask is not None and query.ndim == attn_mask.ndim == 3 else attn_mask
        sight = ProductSight(
            eye.layer,
            q,
            k,
            v,
            mask=mask,
            causal=is_causal,
            scale=scale,
            dropout=dropout_p,
            reads=reads or eye.reads(len(q), q.shape[2], k.shape[2]),
        )
    out: Tensor
    if sight is not None and maybe_current_level() is not None:
        out = sight.output().view(*query.shape[:-1], -1)  # the kernels of a CPU have no rule for vmap
    else:
        out = function(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    if sight is not None:
        out = eye.shift(sight, out)
        eye.saw(sight, out)
    return out


def _source(cls: type[nn.Module]) -> str:
    """Source of a class outside torch; empty if there is none."""
    if cls.__module__.startswith("torch."):
        return ""
    try:
        return inspect.getsource(cls)
    except (OSError, TypeError):
        return ""
