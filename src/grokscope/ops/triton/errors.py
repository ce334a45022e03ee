"""Cross-entropy of rows of logits, whether the answer is correct, and the gradient on the logits in their place: one pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from .launching import launch

if TYPE_CHECKING:
    from torch import Tensor

ROWS = 16
"""Examples per program."""


def answer_errors_(
    logits: Tensor, labels: Tensor, classes: int, share: float, back: bool, plus: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Losses and correct answers in float32. With `back`, logits become share · (softmax − [class = label]).

    classes   the columns after them only fill the rows; they become 0
    plus      [run class], added to the logits of every example of a run
    """
    losses, correct = (torch.empty(labels.shape, device=logits.device) for _ in range(2))
    examples, width = labels.numel(), logits.shape[-1]
    launch(
        _errors, (triton.cdiv(examples, ROWS),),
        logits, labels.contiguous(), losses, correct, losses if plus is None else plus.contiguous(),
        examples, labels.shape[-1], classes, width, share,
        PLUS=plus is not None, BACK=back, ROWS=ROWS, COLUMNS=triton.next_power_of_2(width),
    )  # fmt: skip
    return losses, correct


@triton.jit
def _errors(
    logits, labels, losses, correct, plus, examples, of_run, classes, width, share,
    PLUS: tl.constexpr, BACK: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    k = tl.arange(0, COLUMNS)
    alive = n < examples
    inside = alive[:, None] & (k < classes)[None, :]
    place = n[:, None] * width + k[None, :]
    answer = tl.load(logits + place, mask=inside, other=float("-inf")).to(tl.float32)
    if PLUS:
        answer += tl.load(plus + (n // of_run)[:, None] * classes + k[None, :], mask=inside, other=0.0)
    answer = tl.where(alive[:, None], answer, 0.0)
    label = tl.load(labels + n, mask=alive, other=0)
    is_label = k[None, :] == label[:, None]
    own = tl.sum(tl.where(is_label, answer, 0.0), 1)
    top = tl.max(answer, 1)
    power = tl.exp(answer - top[:, None])
    norm = tl.sum(power, 1)
    tl.store(losses + n, tl.log(norm) + top - own, mask=alive)
    tl.store(correct + n, (own >= top).to(tl.float32), mask=alive)
    if BACK:
        error = share * (power / norm[:, None] - tl.where(is_label, 1.0, 0.0))
        tl.store(logits + place, error.to(logits.dtype.element_ty), mask=alive[:, None] & (k < width)[None, :])
