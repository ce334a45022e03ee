"""What can be watched, what was found, and why not: in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ..errors import ConfigError

if TYPE_CHECKING:
    from .adapters import Adapter
    from .sights import Sight

WITHOUT_WEIGHTS = ("mamba", "ssm", "s4", "rwkv", "retnet", "linearattention", "deltanet", "hyena", "flexattention")
"""Parts of class names of layers that have no attention weights."""


def check_model(model: Any) -> nn.Module:
    """The module to watch; ConfigError for what cannot be watched."""
    if not isinstance(model, nn.Module):
        raise ConfigError("model", f"{type(model).__name__} is not an nn.Module")
    if isinstance(model, nn.parallel.DistributedDataParallel):
        model = model.module
    if isinstance(model, nn.DataParallel):
        raise ConfigError("model", "DataParallel copies the model into threads; use DistributedDataParallel")
    for name, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            raise ConfigError(
                "model", f"{name or type(module).__name__} is scripted; watch the module it was made from"
            )
        compiled = type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None)
        if compiled:
            raise ConfigError("model", f"{name or 'it'} is compiled; watch it before torch.compile, without compiling")
    return model


def describe(model: nn.Module, chosen: Sequence[type[Adapter]], seen: Sequence[Sight]) -> str:
    """What was found, layer by layer."""
    lines = [f"{type(model).__name__}: {', '.join(adapter.kind for adapter in chosen)}"]
    if seen:
        for number, sight in enumerate(seen):
            _, heads, queries, positions = sight.shape
            gradient = f"no gradient ({sight.no_gradient})" if sight.no_gradient else "gradient"
            known = f"{gradient}{', stream' if sight.reads is not None else ''}"
            lines.append(f"  {number}  {sight.layer or '(model)'}: {_heads(heads)}, {queries} × {positions}; {known}")
        return "\n".join(lines)
    found = [layer for adapter in chosen for layer in adapter.find(model)]
    own = {layer.name: layer for layer in found}
    for number, layer in enumerate(own.values()):
        note = f", {layer.note}" if layer.note else ""
        lines.append(f"  {number}  {layer.name or '(model)'}: {layer.kind}, {_heads(layer.heads)}{note}")
    if not own:
        lines.append("  no attention found by name; a forward pass shows what calls scaled_dot_product_attention")
    return "\n".join(lines)


def why_nothing_was_seen(model: nn.Module) -> str:
    """Why a pass had no attention."""
    for name, module in model.named_modules():
        kind = type(module).__name__
        if any(word in kind.lower() for word in WITHOUT_WEIGHTS):
            return f"{name or 'it'} is a {kind}, which has no attention weights"
    return (
        f"no attention was seen in {type(model).__name__}; show its logits with scope.see(logits), or call "
        f"scaled_dot_product_attention"
    )


def shown(given: Any, default: str = "none") -> Any:
    """A short text about what a user gave, for the stored settings."""
    if given is None:
        return default
    if isinstance(given, torch.Tensor):
        if given.ndim == 1 and given.dtype == torch.bool and len(given) <= 64:
            return "positions " + " ".join(str(place) for place in given.nonzero().flatten().tolist())
        return f"{str(given.dtype).removeprefix('torch.')} {list(given.shape)}"
    if callable(given):
        return getattr(given, "__name__", type(given).__name__)
    return (
        " ".join(map(str, sorted(given) if isinstance(given, (set, frozenset)) else given)) if _many(given) else given
    )


def distributed_rank() -> int:
    """Number of this process among those that train together; 0 if it trains alone."""
    ready = torch.distributed.is_available() and torch.distributed.is_initialized()
    return torch.distributed.get_rank() if ready else 0


def _many(given: Any) -> bool:
    return isinstance(given, (list, tuple, set, frozenset, range))


def _heads(count: int | None) -> str:
    return "heads unknown" if count is None else f"{count} head{'s' * (count != 1)}"
