"""What a model is: named parameters with roles, and a pure forward pass for one run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Union

import torch

from ..registry import Registry
from ..settings import Settings, require
from ..shapes import Float, Int

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ..ops.lookup import Plan
    from ..tasks import Shape

models: Registry[type[Model]] = Registry("model", "grokscope.models")

Role = Literal["embedding", "matrix", "bias"]


class Neurons(NamedTuple):
    """The two sides of a hidden layer, with everything linear around it multiplied in."""

    reads: Float[Tensor, "neuron token"]
    writes: Float[Tensor, "neuron class"]


class Parameter(NamedTuple):
    """One weight of one run."""

    shape: tuple[int, ...]
    role: Role
    """Optimizers group by role, never by number of dimensions."""
    std: float
    """Standard deviation at initialisation."""
    part: Literal["embed", "attention", "mlp", "readout"]
    """Which half of the story it belongs to: norm matching projects `mlp`, the qk penalty reads W_Q and W_K."""


Inputs = Union["Plan", "Tensor"]
"""Sequences of tokens as a plan of look-ups, or vectors [example feature]."""


class Output(NamedTuple):
    """What a forward pass returns, so that no diagnostic needs a hook.

    Attention is that of the query position in the last layer.
    """

    logits: Float[Tensor, "example class"]
    """[example position class] when the loss is taken at every position; of no example where the model grades itself."""
    attention: Float[Tensor, "example head position"] | None = None
    """None, like all below it, for a model without attention."""
    log_attention: Float[Tensor, "example head position"] | None = None
    """log α, finite even where α vanishes."""
    attention_logits: Float[Tensor, "example head position"] | None = None
    pooled: Float[Tensor, "example head width"] | None = None
    """h, the attention-weighted mean of the values, a row per head; only when asked for with `detail=True`."""
    values: Float[Tensor, "example head position width"] | None = None
    """v_j; only when asked for."""
    stream: Float[Tensor, "example position d"] | None = None
    """e_j, what the last attention layer reads; only when asked for, and not where the model knows a shorter way to
    `interaction_gradient` and `embedding_norm`."""
    hidden: Float[Tensor, "example neuron"] | None = None
    """The MLP's hidden layer at the query, after its nonlinearity; only when asked for."""
    loss: Float[Tensor, "example"] | None = None
    """Cross-entropy of each answer, with a gradient on attention only; where the model grades itself."""
    right: Float[Tensor, "example"] | None = None
    """1 where an answer is right, 0 elsewhere; the same."""
    distance: Float[Tensor, "example head position"] | None = None
    """‖v_j − h‖, in place of the values; the same, when asked for with `detail=True`."""


@dataclass(frozen=True, kw_only=True)
class Model(Settings):
    """Base of all models. One without attention needs `parameters`, `check_task` and `forward` alone."""

    has_attention: ClassVar[bool] = True

    def check_task(self, shape: Shape) -> None:
        """Raise ConfigError where this model cannot read a task."""
        require(shape.features == 0, "kind", f"{self.kind} reads tokens, and this task has vectors")

    def parameters(self, shape: Shape) -> dict[str, Parameter]:
        raise NotImplementedError

    def forward(
        self,
        weights: dict[str, Tensor],
        inputs: Any,
        *,
        frozen: Float[Tensor, "example position"] | None = None,
        offset: Float[Tensor, "example head position"] | None = None,
        detail: bool = False,
        every_position: bool = False,
    ) -> Output:
        """Logits and attention for the `inputs` (see `Inputs`). What stands behind the star is for attention:
        a model without it is never given any.

        frozen   attention weights to use instead of the computed ones
        offset   added to the attention logits; its gradient at zero is ∂loss/∂ℓ_j
        detail   also return what `Output` has only when asked for
        every_position   logits at every position, not at the query only
        """
        raise NotImplementedError

    def supports_fused_loss(self, device: torch.device, precision: str, classes: int) -> bool:
        """Whether the model knows a faster way to the cross-entropy of its answers than through their logits, with products
        in float32, tf32 or bf16."""
        return False

    def fused_eval(
        self,
        weights: dict[str, Tensor],
        inputs: Any,
        labels: Int[Tensor, "example"],
        *,
        frozen: Float[Tensor, "example position"] | None = None,
        offset: Float[Tensor, "example head position"] | None = None,
        detail: bool = False,
    ) -> Output:
        """The faster way for measuring, where `supports_fused_loss`: `forward` with each answer's loss in place of its logits."""
        raise NotImplementedError

    def fused_loss(
        self,
        weights: dict[str, Tensor],
        inputs: Any,
        labels: Int[Tensor, "example"],
        *,
        frozen: Float[Tensor, "example position"] | None = None,
    ) -> tuple[Float[Tensor, ""], Output]:
        """The faster way for training, where `supports_fused_loss`: the mean over the examples, and the output without logits.
        The loss has to enter what is differentiated with weight 1. Weights and inputs may be those of stacked runs: all axes
        are counted from the end, and nothing is left for vmap to do."""
        raise NotImplementedError

    def lipschitz(self, weights: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Upper bound on how fast the logits change with the pooled representation h."""
        raise NotImplementedError

    def local_lipschitz(self, weights: dict[str, Tensor], out: Output) -> Float[Tensor, ""]:
        """The same between the inputs seen in `out` and right at each of them, where that is known to be less."""
        return self.lipschitz(weights)

    def value_norm(self, weights: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Upper bound on ‖W_V‖_op."""
        raise NotImplementedError

    def interaction_gradient(
        self, weights: dict[str, Tensor], plan: Plan, out: Output, gradient: Float[Tensor, "example head position"]
    ) -> Float[Tensor, "head d d"]:
        """∂loss/∂M = Σ_j ∂loss/∂ℓ_j e_q e_jᵀ / √width, of the loss whose gradient on the attention logits is given."""
        assert out.stream is not None and out.pooled is not None
        key_sum = torch.einsum("nhj,njd->nhd", gradient, out.stream)
        return torch.einsum("nq,nhd->hqd", out.stream[:, -1], key_sum) / math.sqrt(out.pooled.shape[-1])

    def embedding_norm(self, weights: dict[str, Tensor], plan: Plan, out: Output) -> Float[Tensor, ""]:
        """max_j‖e_j‖ over the sequences of `plan`."""
        assert out.stream is not None
        return out.stream.norm(dim=-1).amax()

    def sensitivity(self, out: Output) -> Float[Tensor, "example head position"]:
        """s_j in ∂h/∂ℓ_j = s_j (v_j − h); for softmax attention it is α_j itself."""
        assert out.attention is not None
        return out.attention

    def neurons(self, weights: dict[str, Tensor]) -> Neurons | None:
        """What each hidden neuron reads from every token and writes to every class, where that makes sense."""
        return None

    def init(self, shape: Shape, generator: Generator) -> dict[str, Tensor]:
        """Gaussian weights, drawn in the order of `parameters`."""
        return {name: torch.randn(p.shape, generator=generator) * p.std for name, p in self.parameters(shape).items()}
