"""Base class of interventions: hooks into the training step of one run, each with a window of epochs.

Epochs count from the branch (`branch.run`), or from the start of training for a run that is no branch. A hook is a pure function of
tensors: what depends on the epoch is selected with `torch.where`, so that runs of one program may have different windows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import torch

from ..randomness import Key
from ..registry import Registry
from ..settings import Settings, require

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from ..models import Parameter
    from ..tasks import Examples

interventions: Registry[type[Intervention]] = Registry("intervention", "grokscope.interventions")

Weights = dict[str, "Tensor"]
Parameters = Mapping[str, "Parameter"]
Tensors = dict[str, "Tensor"]


class Now(NamedTuple):
    """The time of a step, and its source of randomness."""

    step: Tensor
    """Optimizer steps since the branch: 0 for the first."""
    per_epoch: int
    """Steps per epoch."""
    key: Key

    @property
    def epoch(self) -> Tensor:
        """Epochs since the branch."""
        return self.step / self.per_epoch


class Rates(NamedTuple):
    """The scheduled numbers of a step."""

    lr: Tensor
    """Learning rate η."""
    prior: Tensor
    """Strength β of the prior."""
    weight_decay: Tensor
    """The hyperparameter wd."""
    data: Tensor
    """Factor of the task loss."""


@dataclass(frozen=True, kw_only=True)
class Intervention(Settings):
    """Base of all interventions. A kind overrides the hooks that it needs; those that it leaves alone cost nothing."""

    needs_branch: ClassVar[bool] = False
    """Whether it needs a run to branch from."""

    def check_run(self, config: RunConfig) -> None:
        """Raise ConfigError if it does not apply to a run."""

    # ── in every step ────────────────────────────────────────────────────────────────────────────────────────

    def rates(self, rates: Rates, now: Now) -> Rates:
        """The learning rate, the strength of the prior, the weight decay and the factor of the task loss of a step."""
        return rates

    def batch(self, batch: Tensors, now: Now, symbols: tuple[Tensor, Tensor], classes: int) -> Tensors:
        """The examples of a step: tokens or vectors, labels, informative.

        symbols   the first distractor symbol and the number of them
        """
        return batch

    def gradient(self, gradient: Weights, weights: Weights, now: Now, parameters: Parameters) -> Weights:
        """The gradient of every weight, before filter and clipping."""
        return gradient

    def update(self, before: Weights, after: Weights, now: Now, parameters: Parameters, decay: Tensor) -> Weights:
        """The weights after a step, given those before it.

        decay   η·wd, the fraction by which weight decay has shrunk the weights
        """
        return after

    def weights(self, weights: Weights, now: Now, parameters: Parameters) -> Weights:
        """The weights themselves: called with those at the branch, and after every step."""
        return weights

    def state(self, tensor: Tensor, now: Now) -> Tensor:
        """A tensor of the optimizer's or the filter's state: called at the same times."""
        return tensor

    def age(self, step: Tensor, now: Now) -> Tensor:
        """The steps that the optimizer counts, for the correction of its means."""
        return step

    # ── on the host ──────────────────────────────────────────────────────────────────────────────────────────

    def donors(self) -> dict[str, tuple[str, int | str]]:
        """Other runs that it takes weights from: id and epoch, by the setting's name."""
        return {}

    def starts(self) -> dict[str, int]:
        """The first epochs of its windows, by the setting's name."""
        return {}

    def graft(self, tensors: Tensors, donors: Mapping[str, Tensors], parameters: Parameters, path: str = "") -> Tensors:
        """The checkpoint that a branch starts from, with weights of other runs in it.

        donors   checkpoints of those runs, by the setting's name
        path     where this intervention stands in a larger one
        """
        return tensors

    def clamp(self, examples: Examples, at_branch: Callable[[Examples], Tensor] | None) -> Tensor | None:
        """The attention weights that replace the computed ones, [example position] or [example head position]; None: learned.

        at_branch   the attention of the network at the branch
        """
        return None

    @property
    def clamps_to_branch(self) -> bool:
        """Whether it needs the attention of the network at the branch."""
        return False

    @property
    def clamps_at_times(self) -> bool:
        """Whether attention is clamped during a part of the run only. That is not fused: both passes are computed."""
        return False

    def clamped(self, now: Now) -> Tensor:
        """Whether attention is clamped at a step."""
        return torch.ones_like(now.step, dtype=torch.bool)

    @property
    def scales_task_loss(self) -> bool:
        """Whether `rates` changes the factor of the task loss. That is not fused."""
        return False

    @property
    def reads_tokens(self) -> bool:
        """Whether `batch` needs the tokens of a sequence."""
        return False

    @property
    def hooks(self) -> frozenset[str]:
        """Names of the hooks in every step that it uses."""
        return frozenset(name for name in HOOKS if getattr(type(self), name) is not getattr(Intervention, name))


HOOKS = ("rates", "batch", "gradient", "update", "weights", "state", "age")
"""Hooks that are called in every step, if they are used."""


@dataclass(frozen=True, kw_only=True)
class Timed(Intervention):
    """Base of interventions that last for a window of epochs."""

    start: int = 0
    """First epoch, counted from the branch."""
    end: int = 0
    """Epoch at which it ends, counted from the branch; 0 lasts to the end of the run."""

    LANES: ClassVar[tuple[str, ...]] = ("start", "end")

    def check(self) -> None:
        require(self.start >= 0, "start", f"{self.start} is below 0")
        require(self.end == 0 or self.end > self.start, "end", f"{self.end} is not above start = {self.start}")

    def starts(self) -> dict[str, int]:
        return {"start": self.start}

    def active(self, now: Now) -> Tensor:
        """Whether a step lies in the window."""
        end = torch.as_tensor(self.end, device=now.step.device)
        return (now.epoch >= self.start) & ((end <= 0) | (now.epoch < end))

    def begins(self, now: Now) -> Tensor:
        """Whether the window begins at this step."""
        return now.step == self.start * now.per_epoch


@interventions.register("none")
@dataclass(frozen=True, kw_only=True)
class NoIntervention(Intervention):
    """No intervention: a branch continues as its parent did, bit for bit on a CPU."""


def require_parts(parameters: Parameters, parts: tuple[str, ...], model: str) -> None:
    """Raise ConfigError if a model has no weights in one of `parts`."""
    require(len(parts) > 0, "parts", "name at least one part")
    known = sorted({p.part for p in parameters.values()})
    for part in parts:
        require(part in known, "parts", f"model {model} has no {part}, only {', '.join(known)}")


def in_parts(parameters: Parameters, parts: tuple[str, ...]) -> list[str]:
    """Names of the weights in `parts`."""
    return [name for name, p in parameters.items() if p.part in parts]
