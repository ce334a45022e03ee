"""The transformer as in a simple script: full attention over every position, nothing shared between examples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from ...models import Output
from ...models.parts.attention.linear import Linear
from ...models.parts.attention.softmax import Softmax
from ...models.parts.mlp.gelu import GELU
from ...models.parts.mlp.relu import ReLU
from ...models.parts.norm.layer import LayerNorm
from ...models.parts.norm.placement import PATHS, SITES, Site
from ...models.parts.norm.rms import RMSNorm
from ...models.parts.positions.learned import Learned
from ...models.parts.positions.none import NoPositions
from ...models.parts.positions.rotary import Rotary
from ...models.parts.readout.minimal import Minimal
from ...models.parts.readout.residual import Residual
from .network import PlainNetwork, plain_networks

if TYPE_CHECKING:
    from ...models import Model
    from ...models.transformer import Transformer
    from ...tasks import Shape

PARTS: dict[str, tuple[type, ...]] = {
    "attention": (Softmax, Linear),
    "positions": (Learned, Rotary, NoPositions),
    "mlp": (ReLU, GELU),
    "readout": (Residual, Minimal),
    "norm_kind": (LayerNorm, RMSNorm),
}
"""The parts that this network has layers for."""
NORMS: dict[type, type[nn.Module]] = {LayerNorm: nn.LayerNorm, RMSNorm: nn.RMSNorm}


@plain_networks.register("transformer")
class PlainTransformer(PlainNetwork):
    """Blocks of causal attention and MLP; only the last position is read, unless the loss is taken at every one."""

    SETTINGS: ClassVar[frozenset[str]] = frozenset(
        ("d", "d_mlp", "heads", "layers", "scope", "init_scale", "norm", "readout_scale", "dropout", *PARTS)
    )

    def __init__(self, model: Transformer, shape: Shape):
        super().__init__(model, shape)
        self.every_position, self.scale = shape.every_position, model.readout_scale
        self.embed = nn.Embedding(shape.vocabulary, model.d)
        self.places["W_E"] = "embed.weight"
        self.position: nn.Parameter | None = None
        if isinstance(model.positions, Learned):
            self.position = nn.Parameter(torch.zeros(max(shape.length, shape.test_length), model.d))
            self.places["W_pos"] = "position"
        out = model.d if model.readout.residual else shape.classes
        self.blocks = nn.ModuleList(Block(model, out) for _ in range(model.layers))
        for layer, block in enumerate(self.blocks):
            for name in dict(block.named_parameters()):
                self.places[f"{NAMES[name]}.{layer}" if layer else NAMES[name]] = f"blocks.{layer}.{name}"
        self.unembed: nn.Linear | None = None
        if model.readout.residual:
            self.unembed = nn.Linear(model.d, shape.classes, bias=False)
            self.places["W_U"] = "unembed.weight"

    @classmethod
    def supports(cls, model: Model) -> bool:
        known = all(type(getattr(model, part)) in kinds for part, kinds in PARTS.items())
        return known and _sees_no_later(model) and super().supports(model)

    def forward(self, tokens: Tensor, frozen: Tensor | None = None) -> Output:
        x = self.embed(tokens)
        if self.position is not None:
            x = x + self.position[-tokens.shape[1] :]  # counted back from the query
        for block in self.blocks:
            x, seen = block(x, frozen if block is self.blocks[-1] else None)
        logits = self.scale * (x if self.unembed is None else self.unembed(x))
        at_query = (tensor[:, :, -1] for tensor in seen)
        return Output(logits if self.every_position else logits[:, -1], *at_query)


_MATRICES = {"query": "W_Q", "key": "W_K", "value": "W_V", "mix": "W_O", "read": "W_in", "write": "W_out"}
NAMES = {f"{layer}.weight": name for layer, name in _MATRICES.items()} | {
    "read.bias": "b_in",
    "write.bias": "b_out",
    "norm_attention.weight": "gain_attention",
    "norm_attention.bias": "bias_attention",
    "norm_mlp.weight": "gain_mlp",
    "norm_mlp.bias": "bias_mlp",
}
"""The model's name of each parameter of a block."""


class Block(nn.Module):
    """Attention and MLP."""

    def __init__(self, model: Transformer, out: int):
        super().__init__()
        self.heads, self.residual = model.heads, model.readout.residual
        self.query, self.key, self.value = (nn.Linear(model.d, model.d, bias=False) for _ in range(3))
        self.mix = nn.Linear(model.d, model.d, bias=False) if model.heads > 1 and self.residual else None
        self.read = nn.Linear(model.d, model.d_mlp, bias=model.mlp.bias)
        self.write = nn.Linear(model.d_mlp, out, bias=model.mlp.bias)
        self.activation = nn.GELU() if isinstance(model.mlp, GELU) else nn.ReLU()
        self.dropout = nn.Dropout(model.dropout)
        self.temperature = model.attention.temperature if isinstance(model.attention, Softmax) else None
        self.rotary_base = model.positions.base if isinstance(model.positions, Rotary) else None

        def norm(site: Site) -> nn.Module:
            made: Any = NORMS[type(model.norm_kind)]
            how = {"eps": model.norm_kind.epsilon, "elementwise_affine": model.norm_kind.affine}
            return made(model.d, **how) if PATHS[model.norm] & SITES[site] else nn.Identity()

        self.norm_attention, self.norm_mlp = norm("attention"), norm("mlp")
        self.of_keys, self.of_values = (path in PATHS[model.norm] for path in ("query-key", "value"))

    def forward(self, x: Tensor, frozen: Tensor | None) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
        """The stream behind the block (logits behind a minimal readout), and α, log α and ℓ [example head query position]."""
        normal = self.norm_attention(x)
        for_keys, for_values = normal if self.of_keys else x, normal if self.of_values else x
        q, k, v = (
            layer(read).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer, read in ((self.query, for_keys), (self.key, for_keys), (self.value, for_values))
        )
        if self.rotary_base is not None:
            q, k = rotated(q, self.rotary_base), rotated(k, self.rotary_base)
        logits = (q @ k.mT).float() / math.sqrt(q.shape[-1])
        attention, log_attention = self.weigh(logits)
        if frozen is not None:
            instead = frozen[:, None, None].expand(-1, self.heads, 1, -1)
            attention = torch.cat([attention[:, :, :-1], instead], 2)
            log_attention = attention.clamp_min(1e-9).log()
        h = (attention @ v).transpose(1, 2).flatten(2)
        if self.mix is not None:
            h = self.mix(h)
        x = x + h if self.residual else h
        written = self.write(self.dropout(self.activation(self.read(self.norm_mlp(x)))))
        return (x + written if self.residual else written), (attention, log_attention, logits)

    def weigh(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """α and log α; no position sees a later one."""
        future = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device).triu(1)
        if self.temperature is not None:
            log_attention = torch.log_softmax((logits / self.temperature).masked_fill(future, -1e9), -1)
            return log_attention.exp(), log_attention
        positive = (torch.relu(logits) + 1e-9).masked_fill(future, 1e-18)
        attention = positive / positive.sum(-1, keepdim=True)
        return attention, attention.log()


def rotated(x: Tensor, base: float) -> Tensor:
    """Queries or keys, rotated by angles that grow with the position; the last position is at angle 0."""
    length, half = x.shape[-2], x.shape[-1] // 2
    rate = base ** -(torch.arange(half, device=x.device) / half)
    angle = torch.arange(1 - length, 1, device=x.device)[:, None] * rate
    first, second = x.float().split(half, -1)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)


def _sees_no_later(model: Any) -> bool:
    """Whether no position sees a later one, apart from the last layer, which is read at the last position."""
    return not (model.scope == "full" and model.layers > 1)
