"""From attention weights to the mean cross-entropy and all its gradients, for many runs, with the hidden layer on chip.

Two kernels process the examples in blocks. The first computes the loss and the gradient on y, the input of the unembedding;
the second computes the backward pass of the MLP. Neither stores the hidden layer: the second recomputes it, which costs a
seventh more products and saves four passes of [example hidden] through memory. A run is shared by `splits` programs if there
are fewer runs than multiprocessors; their sums are added in a fixed order, so that the result is deterministic.

Products are TF32, or bf16 under autocast; all sums are float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import triton
import triton.language as tl
from triton.runtime.errors import OutOfResources

from .lookup import pool_forward, pool_weight_backward, row_sums

if TYPE_CHECKING:
    from torch import Tensor

    from ..lookup import Plan

CHUNK = 64
"""Hidden units per chunk."""
WIDTHS = (16, 32, 64)
"""Widths d whose sums fit into the registers."""
HOW: dict[torch.dtype, tuple[dict[str, int], dict[str, int]]] = {
    torch.bfloat16: (
        {"BLOCK": 64, "num_warps": 4, "num_stages": 3},
        {"BLOCK": 64, "num_warps": 4, "num_stages": 2, "PAIR": 1},
    ),
    torch.float32: (
        {"BLOCK": 128, "num_warps": 8, "num_stages": 1},
        {"BLOCK": 128, "num_warps": 8, "num_stages": 1, "PAIR": 0},
    ),
}
"""Examples per block, compile options, and whether the second kernel keeps the sums of two chunks; measured on an H200."""
_blocks: dict[tuple[object, ...], int] = {}
"""Examples per block where shared memory holds fewer."""


def fits(d: int, classes: int, precision: str, device: torch.device) -> bool:
    """Whether a multiprocessor of the device can hold what the kernels keep of a network: mostly three times W_U, however small
    the block of examples (measured for compute capabilities 8.0 and 9.0)."""
    index = torch.cuda.current_device() if device.index is None else device.index
    shared: int = triton.runtime.driver.active.utils.get_device_properties(index)["max_shared_mem"]
    return d in WIDTHS and (6 if precision == "bf16" else 12) * d * _columns(classes) <= shared


def loss_and_gradients(
    values: Tensor,
    attention: Tensor,
    plan: Plan,
    W_in: Tensor,
    W_out: Tensor,
    W_U: Tensor,
    labels: Tensor,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The mean cross-entropy of each run, and its gradient on values, attention, W_in, W_out and W_U (see ops/readout_loss.py)."""
    values, W_in, W_out, W_U = _rounded(values, W_in, W_out, W_U)
    x = pool_forward(values, attention, plan.row)
    losses, _, to_y, to_U = _forward(x, W_in, W_out, W_U, labels, scale, scale / x.shape[1], True)
    to_x, to_in, to_out = _backward(x, to_y, W_in, W_out)
    to_attention = pool_weight_backward(to_x, values, plan.row)
    to_values = row_sums(to_x, plan.order, plan.starts, attention, plan.row.shape[-1])
    return losses.mean(1), to_values, to_attention, to_in, to_out, to_U


def evaluate_readout(
    values: Tensor,
    attention: Tensor,
    plan: Plan,
    W_in: Tensor,
    W_out: Tensor,
    W_U: Tensor,
    labels: Tensor,
    scale: float,
    wanted: bool,
) -> tuple[Tensor, ...]:
    """The cross-entropy of each answer, whether it is correct and, if wanted, the gradient of the former on attention (see
    ops/readout_eval.py)."""
    values, W_in, W_out, W_U = _rounded(values, W_in, W_out, W_U)
    x = pool_forward(values, attention, plan.row)
    losses, correct, to_y, _ = _forward(x, W_in, W_out, W_U, labels, scale, scale, wanted)
    if not wanted:
        return losses, correct
    to_x, *_ = _backward(x, to_y, W_in, W_out)
    return losses, correct, pool_weight_backward(to_x, values, plan.row)


def _rounded(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Operands of the products: bf16 under autocast; float32 is rounded to TF32 by the products themselves."""
    kind = torch.bfloat16 if torch.is_autocast_enabled(tensors[0].device.type) else torch.float32
    return tuple(t.to(kind).contiguous() for t in tensors)


def _forward(
    x: Tensor, W_in: Tensor, W_out: Tensor, W_U: Tensor, labels: Tensor, scale: float, share: float, back: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Losses, correct answers, and the gradients on y and W_U of `share`/`scale` times the sum of the losses."""
    (runs, examples, d), hidden, classes = x.shape, W_in.shape[2], W_U.shape[2]
    how = HOW[x.dtype][0]
    splits = _splits(runs, examples, how["BLOCK"], x.device)
    losses, correct = (torch.empty(runs, examples, device=x.device) for _ in range(2))
    to_y, to_U = torch.empty_like(x), torch.empty(runs, splits, d, classes, device=x.device)
    _launch(
        _to_loss_and_back, runs * splits, how,
        x, W_in, W_out, W_U, labels.contiguous(), losses, correct, to_y, to_U, examples, hidden, classes, scale, share, splits,
        D=d, CHUNK=_chunk(hidden), COLUMNS=_columns(classes), BACK=back,
    )  # fmt: skip
    return losses, correct, to_y, _added(to_U)


def _backward(x: Tensor, to_y: Tensor, W_in: Tensor, W_out: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients on x, W_in and W_out."""
    (runs, examples, d), hidden = x.shape, W_in.shape[2]
    how = HOW[x.dtype][1]
    splits = _splits(runs, examples, how["BLOCK"], x.device)
    to_x = torch.empty_like(x)
    to_in, to_out = (torch.empty(runs, splits, *shape, device=x.device) for shape in ((d, hidden), (hidden, d)))
    _launch(
        _through_the_mlp, runs * splits, how,
        x, to_y, W_in, W_out, to_x, to_in, to_out, examples, hidden, splits, D=d, CHUNK=_chunk(hidden),
    )  # fmt: skip
    return to_x, _added(to_in), _added(to_out)


def _launch(kernel: Any, programs: int, how: dict[str, int], *tensors: Any, **sizes: int) -> None:
    """Launch with the block size of `how`, halved until it fits into shared memory."""
    device, kind = tensors[0].device, tensors[0].dtype
    case = (kernel.__name__, device, kind, *sizes.values())
    block = _blocks.get(case, how["BLOCK"])
    while True:
        try:
            kernel[(programs,)](*tensors, **sizes, **how | {"BLOCK": block})
            return
        except OutOfResources:
            if block == 16:
                raise
            block //= 2
            _blocks[case] = block


def _columns(classes: int) -> int:
    return max(16, int(triton.next_power_of_2(classes)))


def _chunk(hidden: int) -> int:
    return min(CHUNK, max(16, int(triton.next_power_of_2(hidden))))


def _splits(runs: int, examples: int, block: int, device: torch.device) -> int:
    """Number of programs per run: enough to fill the device, each with at least one block of examples."""
    processors = torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 3
    return max(1, min(2 * processors // runs, triton.cdiv(examples, block)))


def _added(parts: Tensor) -> Tensor:
    return parts.sum(1) if parts.shape[1] > 1 else parts[:, 0]


@triton.jit
def _read(W, rows, columns, row, column):
    """A block of a matrix, zeros outside."""
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    return tl.load(W + row[:, None] * columns + column[None, :], mask=inside, other=0.0)


@triton.jit
def _to_loss_and_back(
    x_in, W_in, W_out, W_U, labels, losses, correct, to_y, to_U, examples, hidden, classes, scale, share,
    splits, D: tl.constexpr, CHUNK: tl.constexpr, COLUMNS: tl.constexpr, BACK: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    part = tl.program_id(0).to(tl.int64)
    run = part // splits
    kind = x_in.dtype.element_ty
    c = tl.arange(0, D)
    k = tl.arange(0, COLUMNS)
    is_class = k < classes
    u = _read(W_U + run * D * classes, D, classes, c, k)
    sum_u = tl.zeros((D, COLUMNS), dtype=tl.float32)
    for block in range(part % splits, tl.cdiv(examples, BLOCK), splits):
        n = block * BLOCK + tl.arange(0, BLOCK)
        alive = n < examples
        example = run * examples + n
        place = example[:, None] * D + c[None, :]
        x = tl.load(x_in + place, mask=alive[:, None], other=0.0)
        y = x.to(tl.float32)
        for chunk in range(0, hidden, CHUNK):
            j = chunk + tl.arange(0, CHUNK)
            w = _read(W_in + run * D * hidden, D, hidden, c, j)
            h = tl.maximum(tl.dot(x, w, input_precision="tf32"), 0.0).to(kind)
            w = _read(W_out + run * hidden * D, hidden, D, j, c)
            y = tl.dot(h, w, y, input_precision="tf32")
        short_y = y.to(kind)
        answer = tl.dot(short_y, u, input_precision="tf32") * scale
        answer = tl.where(is_class[None, :], answer, float("-inf"))
        label = tl.load(labels + example, mask=alive, other=0)
        is_label = k[None, :] == label[:, None]
        own = tl.sum(tl.where(is_label, answer, 0.0), 1)
        top = tl.max(answer, 1)
        power = tl.exp(answer - top[:, None])
        norm = tl.sum(power, 1)
        tl.store(losses + example, tl.log(norm) + top - own, mask=alive)
        tl.store(correct + example, (own >= top).to(tl.float32), mask=alive)
        if BACK:
            # error = share · (softmax − [class = label])
            part_of = tl.where(alive, share, 0.0)
            error = (power * (part_of / norm)[:, None] - tl.where(is_label, part_of[:, None], 0.0)).to(kind)
            tl.store(to_y + place, tl.dot(error, tl.trans(u), input_precision="tf32").to(kind), mask=alive[:, None])
            sum_u = tl.dot(tl.trans(short_y), error, sum_u, input_precision="tf32")
    if BACK:
        tl.store(to_U + part * D * classes + c[:, None] * classes + k[None, :], sum_u, mask=is_class[None, :])


@triton.jit
def _through_units(x, g, to_x, w_in, w_out, sum_in, sum_out):
    """Add the gradients of a chunk of hidden units: on x, on its columns of W_in and on its rows of W_out."""
    h = tl.maximum(tl.dot(x, w_in, input_precision="tf32"), 0.0)
    back = tl.dot(g, tl.trans(w_out), input_precision="tf32")
    back = tl.where(h > 0, back, 0.0).to(x.dtype)
    sum_out = tl.dot(tl.trans(h.to(x.dtype)), g, sum_out, input_precision="tf32")
    sum_in = tl.dot(tl.trans(x), back, sum_in, input_precision="tf32")
    return tl.dot(back, tl.trans(w_in), to_x, input_precision="tf32"), sum_in, sum_out


@triton.jit
def _store_units(to_in, to_out, sum_in, sum_out, part, hidden, c, j, D: tl.constexpr):
    real = j < hidden
    tl.store(to_in + part * D * hidden + c[:, None] * hidden + j[None, :], sum_in, mask=real[None, :])
    tl.store(to_out + part * D * hidden + j[:, None] * D + c[None, :], sum_out, mask=real[:, None])


@triton.jit
def _through_the_mlp(
    x_in, to_y, W_in, W_out, to_x, to_in, to_out, examples, hidden, splits,
    D: tl.constexpr, CHUNK: tl.constexpr, BLOCK: tl.constexpr, PAIR: tl.constexpr,
):  # fmt: skip
    """One pass over the examples per one or two chunks of hidden units; the gradient on x accumulates over passes."""
    part = tl.program_id(0).to(tl.int64)
    run = part // splits
    c = tl.arange(0, D)
    for first in range(0, hidden, (1 + PAIR) * CHUNK):
        j0 = first + tl.arange(0, CHUNK)
        j1 = j0 + CHUNK
        in0 = _read(W_in + run * D * hidden, D, hidden, c, j0)
        out0 = _read(W_out + run * hidden * D, hidden, D, j0, c)
        sum_in0 = tl.zeros((D, CHUNK), dtype=tl.float32)
        sum_out0 = tl.zeros((CHUNK, D), dtype=tl.float32)
        if PAIR:
            in1 = _read(W_in + run * D * hidden, D, hidden, c, j1)
            out1 = _read(W_out + run * hidden * D, hidden, D, j1, c)
            sum_in1 = tl.zeros((D, CHUNK), dtype=tl.float32)
            sum_out1 = tl.zeros((CHUNK, D), dtype=tl.float32)
        for block in range(part % splits, tl.cdiv(examples, BLOCK), splits):
            n = block * BLOCK + tl.arange(0, BLOCK)
            alive = (n < examples)[:, None]
            place = (run * examples + n)[:, None] * D + c[None, :]
            x = tl.load(x_in + place, mask=alive, other=0.0)
            g = tl.load(to_y + place, mask=alive, other=0.0)
            # the residual stream on the first pass, the accumulated gradient on the others
            back = tl.load(to_x + place, mask=alive & (first > 0), other=0.0).to(tl.float32)
            back += tl.where(first == 0, g.to(tl.float32), 0.0)
            back, sum_in0, sum_out0 = _through_units(x, g, back, in0, out0, sum_in0, sum_out0)
            if PAIR:
                back, sum_in1, sum_out1 = _through_units(x, g, back, in1, out1, sum_in1, sum_out1)
            tl.store(to_x + place, back.to(to_x.dtype.element_ty), mask=alive)
        _store_units(to_in, to_out, sum_in0, sum_out0, part, hidden, c, j0, D)
        if PAIR:
            _store_units(to_in, to_out, sum_in1, sum_out1, part, hidden, c, j1, D)
        tl.debug_barrier()
