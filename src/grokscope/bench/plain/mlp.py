"""The MLP on vectors as in a simple script."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from torch import Tensor, nn

from ...models import Output
from .network import PlainNetwork, plain_networks

if TYPE_CHECKING:
    from ...models.mlp import MLP
    from ...tasks import Shape


@plain_networks.register("mlp")
class PlainMLP(PlainNetwork):
    """``nn.Linear`` and ``nn.ReLU`` in turn."""

    SETTINGS: ClassVar[frozenset[str]] = frozenset(("depth", "width", "widths", "biases", "kappa", "dropout"))

    def __init__(self, model: MLP, shape: Shape):
        super().__init__(model, shape)
        widths = [shape.features, *model.hidden, shape.classes]
        layers: list[nn.Module] = []
        for number in range(1, len(widths)):
            place = f"layers.{len(layers)}"
            self.places[f"W_{number}"] = f"{place}.weight"
            if model.biases:
                self.places[f"b_{number}"] = f"{place}.bias"
            layers += [nn.Linear(widths[number - 1], widths[number], bias=model.biases), nn.ReLU()]
            if model.dropout:
                layers.append(nn.Dropout(model.dropout))
        last = max(place for place, layer in enumerate(layers) if isinstance(layer, nn.Linear))
        self.layers = nn.Sequential(*layers[: last + 1])

    def forward(self, inputs: Tensor, frozen: Tensor | None = None) -> Output:
        return Output(self.layers(inputs))
