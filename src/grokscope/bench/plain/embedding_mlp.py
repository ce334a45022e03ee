"""The MLP of grokking tickets as in a simple script: every example embeds and sums its own tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from ...models import Output
from .network import PlainNetwork, plain_networks

if TYPE_CHECKING:
    from ...models.embedding_mlp import EmbeddingMLP
    from ...tasks import Shape


@plain_networks.register("embedding-mlp")
class PlainEmbeddingMLP(PlainNetwork):
    """One hidden layer on the sum of the embeddings; the query has none."""

    SETTINGS: ClassVar[frozenset[str]] = frozenset(("d", "d_mlp", "kappa", "dropout", "embed_init"))

    def __init__(self, model: EmbeddingMLP, shape: Shape):
        super().__init__(model, shape)
        self.embed = nn.Embedding(shape.vocabulary - 1, model.d)
        self.read, self.write = (
            nn.Linear(*sizes, bias=False) for sizes in ((model.d, model.d_mlp), (model.d_mlp, model.d))
        )
        self.unembed = nn.Linear(model.d, shape.classes, bias=False)
        self.dropout = nn.Dropout(model.dropout)
        self.places = {name: f"{own}.weight" for name, own in NAMES.items()}

    def forward(self, tokens: Tensor, frozen: Tensor | None = None) -> Output:
        x = self.embed(tokens[:, :-1]).sum(1)
        return Output(self.unembed(self.write(self.dropout(torch.relu(self.read(x))))))


NAMES = {"W_E": "embed", "W_in": "read", "W_out": "write", "W_U": "unembed"}
