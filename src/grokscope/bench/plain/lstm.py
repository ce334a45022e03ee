"""The LSTM as in a simple script: ``nn.LSTM`` with two layers, packed where sequences are padded in front."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from ...models import Output
from .network import PlainNetwork, plain_networks

if TYPE_CHECKING:
    from ...models.lstm import LSTM
    from ...tasks import Shape


@plain_networks.register("lstm")
class PlainLSTM(PlainNetwork):
    """Read at the last position. ``nn.LSTM`` adds two biases to each gate; the second stays 0."""

    SETTINGS: ClassVar[frozenset[str]] = frozenset(("d", "hidden", "padding", "kappa", "dropout"))

    def __init__(self, model: LSTM, shape: Shape):
        super().__init__(model, shape)
        self.padding = model.padding
        self.embed = nn.Embedding(shape.vocabulary, model.d)
        self.lstm = nn.LSTM(model.d, model.hidden, num_layers=2, batch_first=True)
        self.unembed = nn.Linear(model.hidden, shape.classes, bias=False)
        self.dropout = nn.Dropout(model.dropout)
        self.places = {"W_E": "embed.weight"}
        for layer in (0, 1):
            second = self.lstm.get_parameter(f"bias_hh_l{layer}").requires_grad_(False)
            nn.init.zeros_(second)
            for name, own in (("W_x", "weight_ih"), ("W_h", "weight_hh"), ("b_", "bias_ih")):
                self.places[f"{name}{layer + 1}"] = f"lstm.{own}_l{layer}"
        self.places["W_U"] = "unembed.weight"

    def forward(self, tokens: Tensor, frozen: Tensor | None = None) -> Output:
        if self.padding is None:
            h = self.lstm(self.embed(tokens))[0][:, -1]
        else:
            padded = (tokens == self.padding).sum(1)
            places = torch.arange(tokens.shape[1], device=tokens.device)
            in_front = tokens.gather(1, (places + padded[:, None]) % tokens.shape[1])
            lengths = (tokens.shape[1] - padded).cpu()
            packed = pack_padded_sequence(self.embed(in_front), lengths, batch_first=True, enforce_sorted=False)
            h = self.lstm(packed)[1][0][-1]
        return Output(self.unembed(self.dropout(h)))

    def from_model(self, name: str, weight: Tensor) -> Tensor:
        return _swapped(weight).t().contiguous() if self._is_gate(name) else super().from_model(name, weight)

    def to_model(self, name: str, weight: Tensor) -> Tensor:
        return _swapped(weight.t()) if self._is_gate(name) else super().to_model(name, weight)

    def _is_gate(self, name: str) -> bool:
        return name.startswith(("W_x", "W_h", "b_"))


def _swapped(gates: Tensor) -> Tensor:
    """Gates i, f, o, g of the package in the order i, f, g, o of PyTorch, or back."""
    i, f, third, fourth = gates.chunk(4, -1)
    return torch.cat([i, f, fourth, third], -1)
