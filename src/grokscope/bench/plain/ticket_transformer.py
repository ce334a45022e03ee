"""The transformer of grokking tickets as in a simple script: full attention over the operands, every position computed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...models import Output
from .network import PlainNetwork, plain_networks

if TYPE_CHECKING:
    from ...models.ticket_transformer import TicketTransformer
    from ...tasks import Shape


@plain_networks.register("tickets-transformer")
class PlainTicketTransformer(PlainNetwork):
    """One block, read at the last token before the query."""

    SETTINGS: ClassVar[frozenset[str]] = frozenset(("d", "d_mlp", "kappa", "dropout", "positions", "biases"))

    def __init__(self, model: TicketTransformer, shape: Shape):
        super().__init__(model, shape)
        d = model.d
        self.embed = nn.Embedding(shape.vocabulary - 1, d)
        places = torch.zeros(max(shape.length, shape.test_length) - 1, d)
        self.position = nn.Parameter(places, requires_grad=model.positions)
        self.query, self.key, self.value, self.mix = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.read, self.write = nn.Linear(d, model.d_mlp, model.biases), nn.Linear(model.d_mlp, d, model.biases)
        self.unembed = nn.Linear(d, shape.classes, bias=False)
        self.dropout = nn.Dropout(model.dropout)
        self.places = {name: f"{own}.weight" for name, own in NAMES.items()}
        self.places |= {"W_pos": "position"} if model.positions else {}
        self.places |= {"b_in": "read.bias", "b_out": "write.bias"} if model.biases else {}

    def forward(self, tokens: Tensor, frozen: Tensor | None = None) -> Output:
        tokens = tokens[:, :-1]
        x = self.embed(tokens) + self.position[-tokens.shape[1] :]
        q, k, v = self.query(x), self.key(x), self.value(x)
        logits = (q @ k.mT).float() / math.sqrt(q.shape[-1])
        future = torch.ones(logits.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        log_attention = torch.log_softmax(logits.masked_fill(future, -1e9), -1)
        attention = log_attention.exp()
        if frozen is not None:
            attention = torch.cat([attention[:, :-1], frozen[:, None, :-1]], 1)
            log_attention = attention.clamp_min(1e-9).log()
        x = x + self.mix(attention @ v)
        x = x + self.write(self.dropout(torch.relu(self.read(x))))
        at_query = ((attention, 0.0), (log_attention, -1e9), (logits, 0.0))
        return Output(self.unembed(x)[:, -1], *(F.pad(t[:, None, -1], (0, 1), value=last) for t, last in at_query))


NAMES = {
    "W_E": "embed",
    "W_Q": "query",
    "W_K": "key",
    "W_V": "value",
    "W_O": "mix",
    "W_in": "read",
    "W_out": "write",
    "W_U": "unembed",
}
