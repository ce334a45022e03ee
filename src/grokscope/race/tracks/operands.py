"""Track D: distractors that look like operands, through which a network memorises."""

from __future__ import annotations

from typing import Any, ClassVar

from ...models.transformer import Transformer
from ...tasks.modular import Modular
from .alphabet import QUICK
from .base import Track, tracks


@tracks.register("D")
class Operands(Track):
    """As track C, with distractors from the operand vocabulary."""

    title = "operand distractors"
    task = Modular(alphabet="operands")
    model = Transformer()
    horizon = 4000
    quick: ClassVar[dict[str, Any]] = QUICK
