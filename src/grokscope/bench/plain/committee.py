"""The two-layer network of averaged units as in a simple script."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from torch import Tensor, nn

from ...models import Output
from .network import PlainNetwork, plain_networks

if TYPE_CHECKING:
    from ...models.committee import Committee
    from ...tasks import Shape


@plain_networks.register("committee")
class PlainCommittee(PlainNetwork):
    """f(x) = (α/N) Σ_i φ(w_i · x), φ(h) = h + ε h²/2"""

    SETTINGS: ClassVar[frozenset[str]] = frozenset(("width", "alpha", "epsilon"))

    def __init__(self, model: Committee, shape: Shape):
        super().__init__(model, shape)
        self.units = nn.Linear(shape.features, model.width, bias=False)
        self.alpha, self.epsilon = model.alpha, model.epsilon
        self.places = {"W": "units.weight"}

    def forward(self, inputs: Tensor, frozen: Tensor | None = None) -> Output:
        h = self.units(inputs)
        return Output(self.alpha * (h + self.epsilon / 2 * h * h).mean(-1, keepdim=True))
