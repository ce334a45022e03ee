"""Autoregressive sparse parity (structural-inference, App. F.4 and G.3): the loss is taken at every position.

Bits are independent, so a bit cannot be predicted; "=" is certain, and the answer after it is
the parity. The paper trains on it in batches of 512; n and k are lost from its text, the defaults are those of `parity`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..settings import require
from ..shapes import Int
from .base import Examples, Shape, tasks
from .parity import Parity
from .table import Part


@tasks.register("ar-parity")
@dataclass(frozen=True, kw_only=True)
class AutoregressiveParity(Parity):
    """Each position predicts the next token (0, 1 or "="); the query predicts the XOR of the k informative bits."""

    @property
    def classes(self) -> int:
        return self.vocabulary

    @property
    def shape(self) -> Shape:
        return super().shape._replace(every_position=True)

    def check(self) -> None:
        require(self.form == "tokens", "form", "a next token needs a sequence of tokens")
        super().check()

    def examples(self, rows: Int[Tensor, "row column"], distractors: int, part: Part, seed: int) -> Examples:
        answered = super().examples(rows, distractors, part, seed)
        following = torch.cat([answered.inputs[:, 1:], answered.labels[:, None]], dim=1)
        return answered._replace(labels=following)
