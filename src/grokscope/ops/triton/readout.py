"""From the residual stream x to the mean cross-entropy and all its gradients, for many runs, with the hidden layer on chip.

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

from .launching import launch
from .parts import add_parts

if TYPE_CHECKING:
    from torch import Tensor

WIDTHS = (16, 32, 64)
"""Widths d whose sums fit into the registers."""
FEW = 32
"""Runs below which a device is not filled by one program per run and block of examples."""
TO_LOSS = {
    torch.bfloat16: {"BLOCK": 64, "CHUNK": 64, "num_warps": 4, "num_stages": 3},
    torch.float32: {"BLOCK": 128, "CHUNK": 64, "num_warps": 8, "num_stages": 1},
}
THROUGH_MLP = {
    torch.bfloat16: {"BLOCK": 128, "CHUNK": 128, "num_warps": 8, "num_stages": 2},
    torch.float32: {"BLOCK": 64, "CHUNK": 128, "num_warps": 8, "num_stages": 1},
}
FEW_RUNS = {"BLOCK": 32, "CHUNK": 64, "num_warps": 4, "num_stages": 1}
"""Examples per block, hidden units per chunk, and compile options; measured on an H200."""
_blocks: dict[tuple[object, ...], int] = {}
"""Examples per block where shared memory holds fewer."""


def fits(d: int, classes: int, precision: str, device: torch.device) -> bool:
    """Whether a multiprocessor of the device can hold what the kernels keep of a network: mostly three times W_U, however small
    the block of examples (measured for compute capabilities 8.0 and 9.0)."""
    index = torch.cuda.current_device() if device.index is None else device.index
    shared: int = triton.runtime.driver.active.utils.get_device_properties(index)["max_shared_mem"]
    return d in WIDTHS and (6 if precision == "bf16" else 12) * d * _columns(classes) <= shared


def stream_loss(
    x: Tensor, W_in: Tensor, W_out: Tensor, W_U: Tensor, labels: Tensor, scale: float
) -> tuple[Tensor, ...]:
    """The mean cross-entropy of each run, and its gradient on x, W_in, W_out and W_U (see ops/readout_stream.py)."""
    x, W_in, W_out, W_U = _rounded(x, W_in, W_out, W_U)
    _, _, to_y, of_readout = _forward(x, W_in, W_out, W_U, labels, scale, scale / x.shape[1], True)
    to_x, of_mlp = _backward(x, to_y, W_in, W_out)
    # a step of few runs lasts as long as its kernels are many: all sums are one
    of_mlp, of_readout, to_x = add_parts(of_mlp, of_readout, to_x.flatten(1).unsqueeze(0))
    to_in, to_out = (own.view(W.shape) for own, W in zip(of_mlp.chunk(2, 1), (W_in, W_out), strict=True))
    return of_readout[:, -1], to_x.view(x.shape), to_in, to_out, of_readout[:, :-1].view(W_U.shape)


def evaluate_stream(
    x: Tensor, W_in: Tensor, W_out: Tensor, W_U: Tensor, labels: Tensor, scale: float, wanted: bool
) -> tuple[Tensor, ...]:
    """The cross-entropy of each answer, whether it is correct and, if wanted, the gradient of the former on x (see
    ops/readout_stream.py)."""
    x, W_in, W_out, W_U = _rounded(x, W_in, W_out, W_U)
    losses, correct, to_y, _ = _forward(x, W_in, W_out, W_U, labels, scale, scale, wanted)
    if not wanted:
        return losses, correct
    to_x, _ = _backward(x, to_y, W_in, W_out, sums=False)
    return losses, correct, to_x.sum(0) if len(to_x) > 1 else to_x[0]


def _rounded(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Operands of the products: bf16 under autocast; float32 is rounded to TF32 by the products themselves."""
    kind = torch.bfloat16 if torch.is_autocast_enabled(tensors[0].device.type) else torch.float32
    return tuple(t.to(kind).contiguous() for t in tensors)


def _forward(
    x: Tensor, W_in: Tensor, W_out: Tensor, W_U: Tensor, labels: Tensor, scale: float, share: float, back: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Losses, correct answers, the gradient on y of `share`/`scale` times the sum of the losses, and parts [run part] of the
    gradient on W_U and of that sum, which comes last."""
    (runs, examples, d), hidden, classes = x.shape, W_in.shape[2], W_U.shape[2]
    how = _fitted(FEW_RUNS if runs < FEW else TO_LOSS[x.dtype], hidden)
    splits = _splits(runs, examples, how["BLOCK"], x.device)
    losses, correct = (torch.empty(runs, examples, device=x.device) for _ in range(2))
    to_y, parts = torch.empty_like(x), torch.empty(runs, splits, d * classes + 1, device=x.device)
    _launch(
        _to_loss_and_back, runs * splits, how,
        x, W_in, W_out, W_U, labels.contiguous(), losses, correct, to_y, parts, examples, hidden, classes, scale, share, splits,
        D=d, COLUMNS=_columns(classes), BACK=back,
    )  # fmt: skip
    return losses, correct, to_y, parts


def _backward(x: Tensor, to_y: Tensor, W_in: Tensor, W_out: Tensor, sums: bool = True) -> tuple[Tensor, Tensor]:
    """Parts [part run …] of the gradient on x, and parts [run part] of those on W_in and W_out, one after the other; the latter are
    empty without `sums`."""
    (runs, examples, d), hidden = x.shape, W_in.shape[2]
    how = _fitted(FEW_RUNS if runs < FEW else THROUGH_MLP[x.dtype], hidden)
    # few runs: the hidden units are shared by several programs, too, whose gradients on x are added afterwards
    groups = triton.cdiv(hidden, how["CHUNK"]) if runs < FEW else 1
    splits = _splits(runs * groups, examples, how["BLOCK"], x.device)
    to_x = torch.empty(groups, *x.shape, device=x.device, dtype=x.dtype)
    parts = torch.empty(runs, splits, 2 * d * hidden if sums else 0, device=x.device)
    _launch(
        _through_the_mlp, runs * splits * groups, how,
        x, to_y, W_in, W_out, to_x, parts, examples, hidden, splits, groups, D=d, SUMS=sums,
    )  # fmt: skip
    return to_x, parts


def _launch(kernel: Any, programs: int, how: dict[str, int], *tensors: Any, **sizes: int) -> None:
    """Launch with the block size of `how`, halved until it fits into shared memory."""
    device, kind = tensors[0].device, tensors[0].dtype
    case = (kernel.__name__, device, kind, *how.values(), *sizes.values())
    block = _blocks.get(case, how["BLOCK"])
    while True:
        try:
            launch(kernel, (programs,), *tensors, **sizes, **how | {"BLOCK": block})
            return
        except OutOfResources:
            if block == 16:
                raise
            block //= 2
            _blocks[case] = block


def _columns(classes: int) -> int:
    return max(16, int(triton.next_power_of_2(classes)))


def _fitted(how: dict[str, int], hidden: int) -> dict[str, int]:
    """With no larger chunks than there are hidden units."""
    return how | {"CHUNK": min(how["CHUNK"], max(16, int(triton.next_power_of_2(hidden))))}


def _splits(runs: int, examples: int, block: int, device: torch.device) -> int:
    """Number of programs per run: enough to fill the device, each with at least one block of examples."""
    processors = torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 3
    return max(1, min(2 * processors // runs, triton.cdiv(examples, block)))


@triton.jit
def _read(W, rows, columns, row, column):
    """A block of a matrix, zeros outside."""
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    return tl.load(W + row[:, None] * columns + column[None, :], mask=inside, other=0.0)


@triton.jit
def _to_loss_and_back(
    x_in, W_in, W_out, W_U, labels, losses, correct, to_y, parts, examples, hidden, classes, scale, share,
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
    sum_losses = tl.zeros((BLOCK,), dtype=tl.float32)
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
        loss = tl.log(norm) + top - own
        tl.store(losses + example, loss, mask=alive)
        tl.store(correct + example, (own >= top).to(tl.float32), mask=alive)
        if BACK:
            # error = share · (softmax − [class = label])
            part_of = tl.where(alive, share, 0.0)
            error = (power * (part_of / norm)[:, None] - tl.where(is_label, part_of[:, None], 0.0)).to(kind)
            tl.store(to_y + place, tl.dot(error, tl.trans(u), input_precision="tf32").to(kind), mask=alive[:, None])
            sum_u = tl.dot(tl.trans(short_y), error, sum_u, input_precision="tf32")
            sum_losses += part_of * loss
    if BACK:
        mine = parts + part * (D * classes + 1)
        tl.store(mine + c[:, None] * classes + k[None, :], sum_u, mask=is_class[None, :])
        tl.store(mine + D * classes, tl.sum(sum_losses, 0) / scale)


@triton.jit
def _through_the_mlp(
    x_in, to_y, W_in, W_out, to_x, parts, examples, hidden, splits, groups,
    D: tl.constexpr, SUMS: tl.constexpr, CHUNK: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One pass over the examples per chunk of hidden units; the gradient on x accumulates over passes.

    Blocks are [hidden example]: the sums over examples are then products of operands as they lie, without a transpose, which
    is what makes TF32 fast.
    """
    program = tl.program_id(0).to(tl.int64)
    group = program % groups
    part = program // groups
    run = part // splits
    runs = tl.num_programs(0) // (splits * groups)
    kind = x_in.dtype.element_ty
    c = tl.arange(0, D)
    mine = to_x + group * runs * examples * D
    units = tl.cdiv(tl.cdiv(hidden, CHUNK), groups) * CHUNK
    for chunk in range(0, units, CHUNK):
        j = group * units + chunk + tl.arange(0, CHUNK)
        real = (j < hidden)[:, None]
        w_in = tl.load(W_in + run * D * hidden + c[None, :] * hidden + j[:, None], mask=real, other=0.0)
        w_out = tl.load(W_out + run * D * hidden + j[:, None] * D + c[None, :], mask=real, other=0.0)
        sum_in = tl.zeros((CHUNK, D), dtype=tl.float32)
        sum_out = tl.zeros((CHUNK, D), dtype=tl.float32)
        for block in range(part % splits, tl.cdiv(examples, BLOCK), splits):
            n = block * BLOCK + tl.arange(0, BLOCK)
            alive = (n < examples)[:, None]
            place = (run * examples + n)[:, None] * D + c[None, :]
            x = tl.load(x_in + place, mask=alive, other=0.0)
            g = tl.load(to_y + place, mask=alive, other=0.0)
            h = tl.maximum(tl.dot(w_in, tl.trans(x), input_precision="tf32"), 0.0)
            back = tl.dot(w_out, tl.trans(g), input_precision="tf32")
            back = tl.where(h > 0, back, 0.0).to(kind)
            if SUMS:
                sum_out = tl.dot(h.to(kind), g, sum_out, input_precision="tf32")
                sum_in = tl.dot(back, x, sum_in, input_precision="tf32")
            # the residual stream on the first pass, the accumulated gradient on the others
            total = tl.load(mine + place, mask=alive & (chunk > 0), other=0.0).to(tl.float32)
            total += tl.where(group + chunk == 0, g.to(tl.float32), 0.0)
            total = tl.dot(tl.trans(back), w_in, total, input_precision="tf32")
            tl.store(mine + place, total.to(kind), mask=alive)
        if SUMS:
            to_in = parts + part * 2 * D * hidden
            tl.store(to_in + c[None, :] * hidden + j[:, None], sum_in, mask=real)
            tl.store(to_in + D * hidden + j[:, None] * D + c[None, :], sum_out, mask=real)
        tl.debug_barrier()
