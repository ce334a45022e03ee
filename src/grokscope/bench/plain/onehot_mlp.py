"""The MLP on one-hot tokens as in a simple script: every example builds its own vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from ...models import Output
from .network import PlainNetwork, plain_networks

if TYPE_CHECKING:
    from ...models.onehot_mlp import OneHotMLP
    from ...tasks import Shape


@plain_networks.register("onehot-mlp")
class PlainOneHotMLP(PlainNetwork):
    """``nn.Linear`` and ``nn.ReLU`` in turn, on the joined one-hot tokens before the query."""

    SETTINGS: ClassVar[frozenset[str]] = frozenset(("width", "layers", "biases", "kappa", "dropout"))

    def __init__(self, model: OneHotMLP, shape: Shape):
        super().__init__(model, shape)
        self.tokens = shape.vocabulary - 1
        layers: list[nn.Module] = []
        d_in = self.tokens * (shape.length - 1)
        for number in range(1, model.layers + 1):
            place = f"layers.{len(layers)}"
            self.places[f"W_{number}"] = f"{place}.weight"
            if model.biases:
                self.places[f"b_{number}"] = f"{place}.bias"
            layers += [nn.Linear(d_in, model.width, bias=model.biases), nn.ReLU(), nn.Dropout(model.dropout)]
            d_in = model.width
        self.places["W_U"] = f"layers.{len(layers)}.weight"
        self.layers = nn.Sequential(*layers, nn.Linear(d_in, shape.classes, bias=False))

    def forward(self, tokens: Tensor, frozen: Tensor | None = None) -> Output:
        onehot = F.one_hot(tokens[:, :-1], self.tokens).float()
        return Output(self.layers(onehot.transpose(1, 2).flatten(1)))
