"""A plain nn.Module as a pure function of its weights: logits, and attention of the last layer at the last position."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from ..errors import ConfigError
from ..models import Output, Parameter
from .adapters.multihead import Multihead
from .adapters.sdpa import Sdpa
from .parts import parameters_of
from .passes import Eye
from .sights import ProductSight, log_attention

if TYPE_CHECKING:
    from torch import Tensor

    from ..randomness import Key


@dataclass(eq=False)
class Template:
    """One module whose own weights are never used. Not shared between threads: a call puts other weights into it."""

    module: nn.Module
    eye: Eye = field(init=False)
    key: Key | None = None
    """Randomness of the call that is under way."""
    draws: int = 0
    offset: Tensor | None = None
    layers: int = 0
    """Attention calls of a forward pass."""
    detail: bool = True
    """Whether it is noted what queries and keys are made from."""

    def __post_init__(self) -> None:
        self.eye = Eye(self.module, lambda: self.detail, keeps_gradients=False)
        self._attached = ExitStack()
        for adapter in (Sdpa, Multihead):
            self._attached.enter_context(adapter().attached(self.module, self.eye))
        self.eye.handlers[F.dropout] = self._dropout
        self.eye.shift = self._shift
        self.eye.open()
        self.fixed = {name: tensor.detach() for name, tensor in self.module.named_buffers()}
        self.fixed |= {n: weight.detach() for n, weight in self.module.named_parameters() if not weight.requires_grad}

    def initial(self) -> dict[str, Tensor]:
        return {n: weight.detach().clone() for n, weight in self.module.named_parameters() if weight.requires_grad}

    def __call__(
        self,
        weights: dict[str, Tensor],
        inputs: Tensor,
        *,
        training: bool,
        key: Key | None,
        offset: Tensor | None,
        detail: bool,
        every_position: bool,
    ) -> Output:
        self.module.train(training)
        self.key, self.draws, self.offset, self.detail = key, 0, offset, detail
        device = next(iter(weights.values())).device
        if any(tensor.device != device for tensor in self.fixed.values()):
            self.fixed = {name: tensor.to(device) for name, tensor in self.fixed.items()}
        try:
            found = functional_call(self.module, {**weights, **self.fixed}, (inputs,))
            seen = self.eye.last
        except RuntimeError as error:
            raise _cannot_be_batched(error) from error
        finally:
            self.eye.last = self.eye.last_trained = None
            self.key = self.offset = None
        logits = getattr(found, "logits", found)
        if not isinstance(logits, torch.Tensor) or logits.ndim not in (2, 3):
            raise ConfigError("model", "its forward returns no logits [example, class] or [example, position, class]")
        if logits.ndim == 3 and not every_position:
            logits = logits[:, -1]
        sights = [sight for sight in (seen.sights if seen else []) if isinstance(sight, ProductSight)]
        if not sights:
            return Output(logits)
        return _with_attention(logits, sights[-1], offset, detail)

    # ── handlers ─────────────────────────────────────────────────────────────────────────────────────────────

    def _dropout(
        self, function: Any, given: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> Any:
        """Dropout from the run's own randomness."""
        if not training or p == 0:
            return given
        if self.key is None:
            raise ConfigError("randomness", "dropout is on outside of a training step")
        self.draws += 1
        kept = self.key.uniform(f"dropout {self.draws}", tuple(given.shape)) >= p
        return given * kept / (1 - p) if p < 1 else torch.zeros_like(given)

    def _shift(self, sight: ProductSight, out: Tensor) -> Tensor:
        """The output with an offset on the logits of the last layer's last query: to first order, which is exact at offset 0.

        ∂h/∂ℓ_j = α_j (v_j − h)
        """
        seen = self.eye.current
        if self.offset is None or seen is None or len(seen.sights) + 1 != self.layers:
            return out
        rows = _last_row(sight)
        log, _ = log_attention(sight.scores(rows))
        alpha, values = log.exp(), sight.values
        at = alpha @ values
        moved = (self.offset.unsqueeze(2) * alpha) @ values
        moved = moved - (self.offset.unsqueeze(2) * alpha).sum(-1, keepdim=True) * at
        own = out if out.ndim == 4 else out.unsqueeze(1)
        return torch.cat([own[:, :, :-1], own[:, :, -1:] + moved], 2).view_as(out)


def _with_attention(logits: Tensor, sight: ProductSight, offset: Tensor | None, detail: bool) -> Output:
    scores = sight.scores(_last_row(sight))[:, :, 0]
    if offset is not None:
        scores = scores + offset
    log, _ = log_attention(scores)
    out = Output(logits, attention=log.exp(), log_attention=log, attention_logits=scores)
    if detail and sight.reads is not None:
        out.stream = sight.reads[0]
    return out


def _last_row(sight: ProductSight) -> Tensor:
    batch, _, queries, _ = sight.shape
    return torch.full((batch, 1), queries - 1, device=sight.device)


def _cannot_be_batched(error: RuntimeError) -> Exception:
    """One line about what vmap cannot do."""
    text = " ".join(str(error).split())
    if "vmap" not in text:
        return error
    reason = "its control flow depends on data" if ".item()" in text or "control flow" in text else text[:120]
    return ConfigError("model", f"several runs of it cannot train as one program: {reason}; use lanes=1")


@dataclass(frozen=True, eq=False)
class Probe:
    """What a trial pass tells about a module."""

    module: nn.Module
    parameters: dict[str, Parameter]
    heads: int
    """Heads of the last attention layer; 0 if no attention was seen."""
    layers: int
    scale: float | None
    """Factor of the product of query and key in the logits."""
    note: str = ""
    """What is not measured, and why."""


def probe(module: nn.Module, inputs: Tensor) -> Probe:
    """Call a module once; ConfigError for what a fleet cannot train."""
    name = type(module).__name__
    if not any(weight.requires_grad for weight in module.parameters()):
        raise ConfigError("model", f"{name} has no trainable weights")
    odd = {str(w.dtype) for w in module.parameters() if w.requires_grad} - {"torch.float32"}
    if odd:
        raise ConfigError("model", f"{name} has weights of type {', '.join(sorted(odd))}; a fleet trains float32")
    before = {key: tensor.clone() for key, tensor in module.named_buffers()}
    template = Template(module)
    del template.eye.handlers[F.dropout]  # there is no run to draw from
    module.train()
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        module(inputs)
        seen = template.eye.last
    changed = [key for key, tensor in module.named_buffers() if not torch.equal(tensor, before[key])]
    if changed:
        raise ConfigError("model", f"{name} changes its buffer {changed[0]} in a forward pass; runs cannot share it")
    template.eye.close()
    sights = seen.sights if seen else []
    last = sights[-1] if sights else None
    parameters = parameters_of(module, sights)
    note = ""
    if isinstance(last, ProductSight) and last.no_gradient:
        raise ConfigError("model", f"{name} has attention dropout, whose draws a run cannot repeat; set it to 0")
    if last is not None and (not isinstance(last, ProductSight) or last.shape[2] != last.shape[3]):
        note = f"{name}: its attention is not that of scaled_dot_product_attention over its own positions: not measured"
        last = None
    heads = last.shape[1] if last is not None else 0
    return Probe(module, parameters, heads, len(sights), last.scale if last is not None else None, note)


templates = threading.local()
"""Templates of this thread, by what they were built from."""
