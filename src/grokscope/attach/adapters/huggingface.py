"""Hugging Face transformers: an attention implementation of our own, which calls the one that the model had.

Attention *and* mask are registered: without the mask function a model builds no causal mask, and says nothing.
"""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError
from ..sights import ScoreSight
from ..softmaxes import Softmaxes
from .base import Adapter, Layer, adapters

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ..passes import Eye

IMPLEMENTATIONS = ("sdpa", "eager")
"""Those whose weights can be recomputed or read."""

_WATCHED: weakref.WeakKeyDictionary[nn.Module, tuple[Eye, Softmaxes]] = weakref.WeakKeyDictionary()
"""Who looks at each attention module."""


@adapters.register("huggingface")
class HuggingFace(Adapter):
    """Every model that follows `AttentionInterface`, with the implementations sdpa and eager."""

    @classmethod
    def find(cls, model: nn.Module) -> list[Layer]:
        layers = []
        for prefix, inner in _pretrained(model):
            note = inner.config._attn_implementation
            for name, module in inner.named_modules(prefix=prefix):
                if _uses_interface(type(module)):
                    layers.append(Layer(name, type(module).__name__, _heads(module), note))
        return layers

    @contextmanager
    def attached(self, model: nn.Module, eye: Eye) -> Iterator[None]:
        softmaxes = Softmaxes(eye)
        found = [inner for _, inner in _pretrained(model) if inner._can_set_attn_implementation()]
        before = [(config, config._attn_implementation_internal) for inner in found for config in _configs(inner)]
        names = [_registered(inner, {kind for c, kind in before if c in _configs(inner)}) for inner in found]
        try:
            for inner, name in zip(found, names, strict=True):
                for module in inner.modules():
                    _WATCHED[module] = (eye, softmaxes)
                inner.set_attn_implementation(name)
            yield
        finally:
            for config, implementation in before:
                config._attn_implementation_internal = implementation
            for inner in found:
                for module in inner.modules():
                    _WATCHED.pop(module, None)


def _pretrained(model: nn.Module) -> list[tuple[str, Any]]:
    """The outermost Hugging Face models in a model, with their names; none if transformers is not imported."""
    if "transformers" not in sys.modules:
        return []
    from transformers import PreTrainedModel

    found: list[tuple[str, Any]] = []
    for name, module in model.named_modules():
        inside = any(module in set(outer.modules()) for _, outer in found)
        if isinstance(module, PreTrainedModel) and not inside:
            found.append((name, module))
    return found


def _configs(model: Any) -> list[Any]:
    """The configs whose attention implementation `set_attn_implementation` changes."""
    from transformers import PreTrainedModel

    own = [module.config for module in model.modules() if isinstance(module, PreTrainedModel)]
    for config in own:
        own += [c for c in (getattr(config, key, None) for key in config.sub_configs) if c is not None]
    return list({id(config): config for config in own}.values())


def _registered(model: Any, implementations: set[str]) -> str:
    """The name of our implementation for a model, registered with transformers."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

    if len(implementations) > 1:
        raise ConfigError("model", f"its parts use several attention implementations: {', '.join(implementations)}")
    (original,) = implementations
    if original not in IMPLEMENTATIONS:
        raise ConfigError(
            "model", f"attention implementation {original!r} hands out no weights; set_attn_implementation('sdpa')"
        )
    name = f"grokscope_{original}"
    AttentionInterface.register(name, _sdpa if original == "sdpa" else _eager)
    AttentionMaskInterface.register(name, ALL_MASK_ATTENTION_FUNCTIONS[original])
    return name


def _sdpa(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """The adapter `sdpa` sees the call inside."""
    return _own(module, "ALL_ATTENTION_FUNCTIONS")["sdpa"](module, *args, **kwargs)


def _eager(module: nn.Module, query: Tensor, *args: Any, **kwargs: Any) -> Any:
    eye, softmaxes = _WATCHED.get(module, (None, None))
    if softmaxes is not None:
        softmaxes.take()
    out = _own(module, "eager_attention_forward")(module, query, *args, **kwargs)
    call = softmaxes.take() if softmaxes is not None else None
    if eye is not None and call is not None:
        batch, _, queries, positions = call.scores.shape
        sight = ScoreSight(
            eye.layer, call.scores, scale=kwargs.get("scaling"), reads=eye.reads(batch, queries, positions)
        )
        eye.saw(sight, call.used)
    return out


def _own(module: nn.Module, name: str) -> Any:
    """A name as the file of a module defines it."""
    defined = vars(sys.modules[type(module).__module__])
    if name in defined:
        return defined[name]
    if name == "ALL_ATTENTION_FUNCTIONS":
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

        return ALL_ATTENTION_FUNCTIONS
    raise ConfigError("model", f"{type(module).__name__} has no {name}; set_attn_implementation('sdpa')")


def _uses_interface(cls: Callable[..., Any]) -> bool:
    try:
        return "attention_interface" in inspect.getsource(cls.forward)  # type: ignore[attr-defined]
    except (OSError, TypeError, AttributeError):
        return False


def _heads(module: nn.Module) -> int | None:
    config = getattr(module, "config", None)
    found = getattr(module, "num_heads", None) or getattr(config, "num_attention_heads", None)
    return found if isinstance(found, int) else None
