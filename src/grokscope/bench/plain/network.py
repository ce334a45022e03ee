"""Base class of plain networks: the network of a run as an ordinary ``nn.Module``, computed without any shared work.

One file per model, registered under the model's name. A model without one, or with settings that its plain network was not
written for, is trained through its own `forward` (`ModelForward`), and tables say so.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, cast

import torch
from torch import Tensor, nn

from ...models import models
from ...ops.lookup import plan
from ...registry import Registry

if TYPE_CHECKING:
    from ...models import Model, Output
    from ...randomness import Key
    from ...tasks import Shape

plain_networks: Registry[type[PlainNetwork]] = Registry("plain network", "grokscope.bench.plain")


class PlainNetwork(nn.Module):
    """A network with the same weights as a model of the package, under names of its own."""

    label: ClassVar[str] = "nn.Module"
    """What tables call it."""
    kind: ClassVar[str] = ""
    SETTINGS: ClassVar[frozenset[str]] = frozenset()
    """The settings of the model that this network was written for; any other must have its default."""

    def __init__(self, model: Model, shape: Shape):
        super().__init__()
        self.places: dict[str, str] = {}
        """Where each of the model's weights is found, as ``{"W_Q": "query.weight"}``."""
        self.draws: Key | None = None
        """Source of the random numbers of the next pass, for a network that can be given one."""

    @classmethod
    def supports(cls, model: Model) -> bool:
        """Whether this is the network of a model with these settings."""
        default = type(model)()
        others = [f.name for f in dataclasses.fields(model) if f.name not in cls.SETTINGS]
        return all(getattr(model, name) == getattr(default, name) for name in others)

    def prepare(self, inputs: Tensor) -> Any:
        """Inputs in the form that `forward` takes."""
        return inputs

    def forward(self, inputs: Any, frozen: Tensor | None = None) -> Output:
        """Logits, and the attention of the query in the last layer, as in `models.Output`.

        frozen   attention weights [example position] to use instead of the computed ones
        """
        raise NotImplementedError

    def from_model(self, name: str, weight: Tensor) -> Tensor:
        """A weight of the model in the form in which it is stored here."""
        return weight.T if self._is_linear(name) else weight

    def to_model(self, name: str, weight: Tensor) -> Tensor:
        """The inverse of `from_model`."""
        return weight.T if self._is_linear(name) else weight

    def named_weights(self) -> dict[str, nn.Parameter]:
        """The parameters by the model's names."""
        return {name: self.get_parameter(place) for name, place in self.places.items()}

    def _is_linear(self, name: str) -> bool:
        """``nn.Linear`` stores its matrix output × input, the models of the package input × output."""
        owner, _, own = self.places[name].rpartition(".")
        return own == "weight" and isinstance(self.get_submodule(owner), nn.Linear)


class ModelForward(PlainNetwork):
    """The model's own `forward` for one run, where there is no plain network."""

    label: ClassVar[str] = "model.forward"

    def __init__(self, model: Model, shape: Shape):
        super().__init__(model, shape)
        self.model, self.shape = model, shape
        for name, parameter in model.parameters(shape).items():
            self.places[name] = name.replace(".", "-")
            self.register_parameter(self.places[name], nn.Parameter(torch.zeros(parameter.shape)))

    def prepare(self, inputs: Tensor) -> Any:
        shape = self.shape
        return inputs if shape.features else plan(inputs, shape.vocabulary, max(shape.length, shape.test_length))

    def forward(self, inputs: Any, frozen: Tensor | None = None) -> Output:
        weights: dict[str, Tensor] = {name: self.get_parameter(place) for name, place in self.places.items()}
        how: dict[str, Any] = {"training": self.training, "key": self.draws or Draws(next(self.parameters()).device)}
        if self.model.has_attention:
            how |= {"frozen": frozen, "every_position": self.shape.every_position}
        return self.model.forward(weights, inputs, **how)


def plain_network(model: Model, shape: Shape) -> PlainNetwork:
    """The plain network of a model; its own `forward` where the plain network would be another one."""
    found = plain_networks.entries().get(model.kind)
    registered = models.entries().get(model.kind) is type(model)  # a subclass may compute something else
    if found is None or not registered or not found.supports(model):
        return ModelForward(model, shape)
    network = found(model, shape)
    parameters = model.parameters(shape)
    return network if network.places.keys() == parameters.keys() else ModelForward(model, shape)


class Draws:
    """Stands in for `Key` where the numbers need not be repeatable: PyTorch's own generator, as in a simple script."""

    def __init__(self, device: torch.device):
        self.device = device

    def fold(self, purpose: str) -> Key:
        return self.as_key()

    def uniform(self, purpose: str, shape: tuple[int, ...]) -> Tensor:
        return torch.rand(shape, device=self.device)

    def normal(self, purpose: str, shape: tuple[int, ...]) -> Tensor:
        return torch.randn(shape, device=self.device)

    def as_key(self) -> Key:
        return cast("Key", self)
