"""Base class of models: named parameters with roles, and a pure forward pass for one run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Union

import torch

from ..registry import Registry, is_code
from ..settings import Settings, require
from ..shapes import Float, Int

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ..ops.lookup import Plan
    from ..randomness import Key
    from ..tasks import Shape

models: Registry[type[Model]] = Registry("model", "grokscope.models")

Role = Literal["embedding", "matrix", "bias"]
MOST_LAYERS = 1000
"""Most layers of a model: each has parameters of its own name."""


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
    part: Literal["embed", "attention", "mlp", "readout", "norm"]
    """Part of the network it belongs to: norm matching projects `mlp`, the qk penalty reads W_Q and W_K."""
    mean: float = 0.0
    """Mean at initialisation."""
    lr: float | None = None
    """Learning rate of its own, without warm-up or schedule; None is the optimizer's."""
    decays: bool = True
    """Whether weight decay applies to it."""

    def draw(self, generator: Generator) -> Tensor:
        """Gaussian initial values."""
        drawn = torch.randn(self.shape, generator=generator) * self.std
        return drawn + self.mean if self.mean else drawn


Inputs = Union["Plan", "Tensor"]
"""Sequences of tokens as a lookup plan, or vectors [example feature]."""


class Output:
    """What a forward pass returns, so that no diagnostic needs a hook. Attention is that of the query in the last layer.

    logits             [example class], or [example position class] when the loss is taken at every position; may be given as a
                       function, which is called on first access
    attention          α [example head position]; None, like all below it, for a model without attention
    log_attention      log α, finite even where α vanishes
    attention_logits   ℓ
    pooled             h [example head width], the attention-weighted mean of the values; with `detail=True` only, like
    values             v_j [example head position width]
    stream             e_j [example position d], what the last attention layer reads; not where the model knows a shorter way to
                       `interaction_gradient` and `embedding_norm`
    hidden             [example neuron], the MLP's hidden layer at the query, after its nonlinearity
    prelogits          [example d], the residual stream that is unembedded, at the query; not for a readout without one
    loss, correct      [example], cross-entropy of each answer, with a gradient on attention only, and 1 where it is correct: where
                       the evaluation is fused
    distance           ‖v_j − h‖ [example head position], in place of the values there
    """

    def __init__(
        self,
        logits: Tensor | Callable[[], Tensor],
        attention: Tensor | None = None,
        log_attention: Tensor | None = None,
        attention_logits: Tensor | None = None,
        pooled: Tensor | None = None,
        values: Tensor | None = None,
        stream: Tensor | None = None,
        hidden: Tensor | None = None,
        loss: Tensor | None = None,
        correct: Tensor | None = None,
        distance: Tensor | None = None,
        prelogits: Tensor | None = None,
    ):
        self._logits = logits
        self.attention = attention
        self.log_attention = log_attention
        self.attention_logits = attention_logits
        self.pooled = pooled
        self.values = values
        self.stream = stream
        self.hidden = hidden
        self.loss = loss
        self.correct = correct
        self.distance = distance
        self.prelogits = prelogits

    @property
    def logits(self) -> Tensor:
        if not isinstance(self._logits, torch.Tensor):
            self._logits = self._logits()
        return self._logits

    @property
    def answers(self) -> Float[Tensor, "example class"]:
        """Logits at the query, in float32 or more."""
        at_query = self.logits if self.logits.ndim == 2 else self.logits[:, -1]
        return at_query if at_query.dtype == torch.float64 else at_query.float()

    def tensors(self) -> dict[str, Tensor]:
        """The fields that are present, by name; logits that have not been computed yet are omitted."""
        found = {name: tensor for name, tensor in vars(self).items() if name != "_logits" and tensor is not None}
        return found if not isinstance(self._logits, torch.Tensor) else {"logits": self._logits} | found

    def replace(self, **fields: Tensor | Callable[[], Tensor] | None) -> Output:
        """A copy with other fields."""
        own = {"logits": self._logits} | {name: tensor for name, tensor in vars(self).items() if name != "_logits"}
        return Output(**own | fields)

    def __getitem__(self, rows: Tensor | slice) -> Output:
        """Some of the examples."""
        return Output(**{name: tensor[rows] for name, tensor in self.tensors().items()})


@dataclass(frozen=True, kw_only=True)
class Model(Settings):
    """Base of all models. One without attention needs `parameters`, `check_task` and `forward` alone."""

    has_attention: ClassVar[bool] = True
    examplewise: ClassVar[bool] = False
    """Whether the output of an example depends on no other example, so that a batch may be cut into blocks. A subclass states it
    again: it may compute something else."""

    def check_task(self, shape: Shape) -> None:
        """Raise ConfigError if this model cannot read a task."""
        require(shape.features == 0, "kind", f"{self.kind} reads tokens, and this task has vectors")

    def parameters(self, shape: Shape) -> dict[str, Parameter]:
        raise NotImplementedError

    def positions_computed(self, shape: Shape) -> int:
        """Positions of each example that `forward` computes separately from those of other examples."""
        return 1

    def forward(
        self,
        weights: dict[str, Tensor],
        inputs: Any,
        *,
        training: bool = False,
        key: Key | None = None,
        frozen: Float[Tensor, "example position"] | None = None,
        offset: Float[Tensor, "example head position"] | None = None,
        detail: bool = False,
        every_position: bool = False,
    ) -> Output:
        """Logits and attention for the `inputs` (see `Inputs`). A model without attention receives `training` and `key` only.

        training         whether this pass is part of a training step: enables dropout and similar layers
        key              source of randomness, such as `key.uniform("dropout", shape)`: a function of the run's seed and the step.
                         Global randomness (torch.rand) is refused: a run could not be repeated
        frozen           attention weights to use instead of the computed ones, also [example head position]
        offset           added to the attention logits; its gradient at zero is ∂loss/∂ℓ_j
        detail           also return the fields of `Output` that are optional
        every_position   logits at every position, not at the query only
        """
        raise NotImplementedError

    def shared(self, weights: dict[str, Tensor], inputs: Any, examples: int) -> dict[str, Tensor]:
        """What `forward` computes once for all examples, under names that no weight has: where a batch of so many examples is
        divided into blocks, `forward` is called for each of them with these beside the weights.

        inputs   those of one block
        """
        return {}

    def penalty(self, weights: dict[str, Tensor]) -> Float[Tensor, ""] | None:
        """Added to the loss of a training step; None if nothing is added."""
        return None

    def supports_fused_loss(self, device: torch.device, precision: str, classes: int) -> bool:
        """Whether `fused_loss` and `fused_eval` compute the cross-entropy of this model's answers, with products in float32,
        tf32 or bf16. They are used only if nothing that they replace is overridden; see `fleet/objective.py`."""
        return False

    def fused_eval(
        self,
        weights: dict[str, Tensor],
        inputs: Any,
        labels: Int[Tensor, "example"],
        *,
        frozen: Float[Tensor, "example position"] | None = None,
        reads: Plan | None = None,
        offset: Float[Tensor, "example head position"] | None = None,
        detail: bool = False,
    ) -> Output:
        """`forward` with the loss of each answer and whether it is correct; its logits are computed on first access.

        reads   the lookup plan of all heads (`Plan.for_heads`), if it is known
        """
        raise NotImplementedError

    def fused_loss(
        self,
        weights: dict[str, Tensor],
        inputs: Any,
        labels: Int[Tensor, "example"],
        *,
        frozen: Float[Tensor, "example position"] | None = None,
        reads: Plan | None = None,
        key: Key | None = None,
    ) -> tuple[Float[Tensor, ""], Output]:
        """The mean cross-entropy over the examples, with its gradient, and the output.

        The loss must enter the objective with weight 1. Weights and inputs may be those of stacked runs: axes are counted from
        the end, and vmap is not needed, unless there is a penalty or a `key`, which are those of one run."""
        raise NotImplementedError

    def forms_stream(self, device: torch.device) -> bool:
        """Whether the fused path computes the residual stream first, and has no use for the lookup plan of all heads."""
        return False

    def lipschitz(self, weights: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Upper bound on how fast the logits change with the pooled representation h."""
        raise NotImplementedError

    def local_lipschitz(self, weights: dict[str, Tensor], out: Output) -> Float[Tensor, ""]:
        """The same between the inputs seen in `out` and locally at each of them, if that is known to be smaller."""
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

    def sensitivity(self, out: Output) -> Float[Tensor, "example head position"] | None:
        """s_j in ∂h/∂ℓ_j = s_j (v_j − h); for softmax attention it is α_j itself. None where there is no such s."""
        assert out.attention is not None
        return out.attention

    def neurons(self, weights: dict[str, Tensor]) -> Neurons | None:
        """What each hidden neuron reads from every token and writes to every class; None if that is not defined."""
        return None

    def init(self, shape: Shape, generator: Generator) -> dict[str, Tensor]:
        """Gaussian weights, drawn in the order of `parameters`."""
        return {name: p.draw(generator) for name, p in self.parameters(shape).items()}


def is_examplewise(model: Model) -> bool:
    """Whether a model computes every example by itself: it and its parts say so in their own class, and none of their methods
    was changed after it was registered."""
    parts = [
        (type(getattr(model, name)), held.registry)
        for name, held in type(model).component_fields().items()
        if held.registry is not None
    ]
    every: list[tuple[type, Registry[Any]]] = [(type(model), models), *parts]
    return all(vars(cls).get("examplewise", False) and not registry.patched(cls) for cls, registry in every)


def overridden(model: Model) -> list[str]:
    """Code replaced by `fused_loss` and `fused_eval` that is not the code they were written for: methods that a subclass
    defines, and methods of the model or of one of its parts that were changed after it was registered.

    Parts of other classes are rejected by `supports_fused_loss`."""
    lineage = type(model).__mro__
    definer = next(place for place, cls in enumerate(lineage) if "fused_loss" in vars(cls))
    registered = [place for place, cls in enumerate(lineage[: definer + 1]) if cls in models.code]
    home = max(registered, default=definer)  # the first registered model with this fused path
    below = [name for cls in lineage[:home] for name, value in vars(cls).items() if is_code(value)]
    found = {name for name in below if hasattr(lineage[home], name)} | set(models.patched(lineage[home]))
    for field, held in type(model).component_fields().items():
        if held.registry is not None:
            found |= {f"{field}.{name}" for name in held.registry.patched(type(getattr(model, field)))}
    return sorted(found - {"check", *_GENERATED})


_GENERATED = ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__replace__")
"""Whether a method was generated by dataclasses."""
