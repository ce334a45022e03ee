"""Two LSTM layers over sequences of tokens: forward, and a hand-written backward.

With gates i, f, o = σ(·) and g = tanh(·), each layer has c⁺ = f c + i g and h⁺ = o tanh(c⁺). The input of layer 1 depends on the
token alone, so it is a row of a table of gates; layer 2 reads (h₁, h₂) through one matrix. Autograd would keep and copy the states
of every position; here each position is a few operations in place, and the gradient of each matrix is one product over all
positions. Stacked runs are batched products.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ..shapes import Bool, Float
from .lookup import Plan, _batched, _row_sums, lookup
from .triton import usable_on

if TYPE_CHECKING:
    from torch import Tensor

GATES = 4
"""i, f, o, g"""


class _States(NamedTuple):
    """What the backward pass reads, by position; a leading run axis where runs are stacked."""

    gates: Float[Tensor, "layer position example gates"]
    """After their nonlinearity."""
    cells: Float[Tensor, "layer place example hidden"]
    """c before each position and behind the last one."""
    squashed: Float[Tensor, "layer position example hidden"]
    """tanh c behind each position, where the layer moves."""
    read: Float[Tensor, "position example both"]
    """What layer 2 reads: h₁ behind the position, and h₂ before it."""


def last_state(
    table: Float[Tensor, "token gates"],
    sequences: Plan,
    W_h1: Float[Tensor, "hidden gates"],
    W_2: Float[Tensor, "both gates"],
    b_2: Float[Tensor, "gates"],
    moves: Bool[Tensor, "example position"] | None = None,
    left: Float[Tensor, "token start"] | None = None,
) -> Float[Tensor, "example hidden"]:
    """h₂ behind the last position.

    table       what each token adds to the gates of layer 1, its bias included
    sequences   the tokens, as rows of the table
    W_2         what carries (h₁, h₂) to the gates of layer 2
    moves       where False, both layers keep their state; None: they move at every position
    left        what a first token leaves behind (`after_first`), if it is known; needs `moves` = None and two positions

    Products are computed in bf16 under autocast; states are kept in the precision of the table.
    """
    stays = None if moves is None else ~moves.mT.unsqueeze(-1)
    kind = table.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else table.dtype
    examples, positions = sequences.row.shape
    start, rest = None, _by_position(sequences)
    if left is None and stays is None and positions > 1 and examples > len(table):
        left = after_first(table, W_h1, W_2, b_2)
    if left is not None:
        first, rest = _plan(sequences.row[:, :1], len(table)), _plan(sequences.row[:, 1:].T, len(table))
        start = lookup(left, first).squeeze(1)
    state: Tensor = _LastState.apply(table, W_h1, W_2, b_2, start, stays, *rest, dtype)[0]
    return state


def after_first(table: Tensor, W_h1: Tensor, W_2: Tensor, b_2: Tensor) -> Float[Tensor, "token start"]:
    """What a first token leaves behind: h₁ and h₂ as they enter the gates of both layers, c₁ and c₂. It depends on the token alone,
    so where tokens are fewer than examples it is a table, too."""
    zero = table.new_zeros(len(table), W_h1.shape[0])
    h1, c1 = _cell(table, zero)
    h2, c2 = _cell(h1 @ W_2[: len(W_h1)] + b_2, zero)
    return torch.cat([h1 @ W_h1, h2 @ W_2[len(W_h1) :], c1, c2], 1)


def _plan(row: Tensor, rows: int) -> Plan:
    """The plan of some of the reads of a table."""
    reads = row.flatten()
    order = reads.argsort(stable=True)
    every = torch.zeros_like(reads[:1]) + torch.arange(
        rows, device=row.device
    )  # its own memory for each of stacked runs
    return Plan(row.contiguous(), order, torch.searchsorted(reads[order].contiguous(), every))


def plain_last_state(
    table: Tensor,
    W_h1: Tensor,
    W_2: Tensor,
    b_2: Tensor,
    start: Tensor | None,
    stays: Tensor | None,
    by_position: Plan,
) -> Tensor:
    """`last_state` of one run in operations that autograd can differentiate twice.

    start   what the tokens before leave behind, as in `after_first`
    """
    hidden = len(W_h1)
    to_gates1 = to_gates2 = c1 = c2 = table.new_zeros(())
    if start is not None:
        to_gates1, to_gates2, c1, c2 = start.split([GATES * hidden, GATES * hidden, hidden, hidden], 1)

    def moved(position: int, old: tuple[Tensor, ...], gates: Tensor) -> tuple[Tensor, ...]:
        new = _cell(gates, old[1])
        return new if stays is None else tuple(map(torch.where, (stays[position],) * 2, old, new))

    zero = table.new_zeros(by_position.row.shape[1], hidden)
    first: tuple[Tensor, ...] = (zero, zero + c1)
    second: tuple[Tensor, ...] = (zero, zero + c2)
    for position, x in enumerate(lookup(table, by_position)):
        first = moved(position, first, x + first[0] @ W_h1 + to_gates1)
        second = moved(position, second, torch.cat([first[0], second[0]], 1) @ W_2 + b_2 + to_gates2)
        to_gates1 = to_gates2 = table.new_zeros(())
    return second[0]


def _cell(gates: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    i, f, o, g = gates.chunk(GATES, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def _by_position(plan: Plan) -> Plan:
    """The same reads, numbered by position first."""
    examples, positions = plan.row.shape
    return Plan(plan.row.T.contiguous(), plan.order % positions * examples + plan.order // positions, plan.starts)


def _forward(
    table: Tensor,
    W_h1: Tensor,
    W_2: Tensor,
    b_2: Tensor,
    start: Tensor | None,
    stays: Tensor | None,
    row: Tensor,
    dtype: torch.dtype,
) -> tuple[Tensor, ...]:
    """h₂ behind the last position, and the fields of `_States`."""
    *runs, positions, examples = row.shape
    hidden = W_h1.shape[-2]
    gates = table.new_empty(*runs, 2, positions, examples, GATES * hidden)
    cells = table.new_empty(*runs, 2, positions + 1, examples, hidden)
    squashed = table.new_empty(*runs, 2, positions, examples, hidden)
    read = table.new_empty(*runs, positions + 1, examples, 2 * hidden)  # at the end, h₂ behind the last position
    W_h1, W_2, b_2 = W_h1.to(dtype), W_2.to(dtype), b_2.unsqueeze(-2)
    place, still = _by_layer(cells), _still(stays, positions)
    each_gates, each_squashed, reads = _by_layer(gates), _by_layer(squashed), read.unbind(-3)
    reads[0][..., hidden:].zero_()
    if start is None:
        cells.select(-3, 0).zero_()
    else:
        for c, own in zip(place[0], start[..., -2 * hidden :].chunk(2, -1), strict=True):
            c.copy_(own)
    before = reads[0][..., hidden:]  # h₁ before the first position is 0, like h₂
    for t in range(positions):
        (own1, own2), now = each_gates[t], reads[t]
        h1, h2, new_h2 = now[..., :hidden], now[..., hidden:], reads[t + 1][..., hidden:]
        _read_rows(table, row.select(-2, t), own1)
        own2.copy_(b_2)
        if t:
            _add_product(own1, before, W_h1)
        elif start is not None:
            for gate, own in zip((own1, own2), start[..., : -2 * hidden].chunk(2, -1), strict=True):
                gate.add_(own)
        _activate(own1, place[t][0], place[t + 1][0], each_squashed[t][0], before, h1, still[t])
        if t:
            _add_product(own2, now, W_2)
        else:
            _add_product(own2, h1, W_2[..., :hidden, :])
        _activate(own2, place[t][1], place[t + 1][1], each_squashed[t][1], h2, new_h2, still[t])
        before = h1
    return reads[-1][..., hidden:].contiguous(), gates, cells, squashed, read.narrow(-3, 0, positions)


def _activate(
    gates: Tensor, c: Tensor, new_c: Tensor, squashed: Tensor, h: Tensor, new_h: Tensor, stays: Tensor | None
) -> None:
    """Apply the nonlinearities to the gates in place; write c⁺, tanh c⁺ and h⁺."""
    if usable_on(gates.device):
        from .triton.lstm import activate

        activate(gates, c, new_c, squashed, h, new_h, stays)
        return
    hidden = c.shape[-1]
    i, f, o, g = gates.split(hidden, -1)
    gates[..., : 3 * hidden].sigmoid_()
    g.tanh_()
    torch.mul(f, c, out=new_c)
    new_c.addcmul_(i, g)
    torch.tanh(new_c, out=squashed)
    torch.mul(o, squashed, out=new_h)
    if stays is not None:
        new_c.copy_(torch.where(stays, c, new_c))
        new_h.copy_(torch.where(stays, h, new_h))


def _backward(
    to_last: Tensor, W_h1: Tensor, W_2: Tensor, stays: Tensor | None, states: _States, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients with respect to the gates of layer 1 [… position example gates], W_h1, W_2, b_2 and the start. The gates are
    overwritten by their gradients, while they are in the cache."""
    positions, (examples, hidden) = states.gates.shape[-3], to_last.shape[-2:]
    W_h1, W_2 = W_h1.to(dtype), W_2.to(dtype)
    gates, cells, squashed = _by_layer(states.gates), _by_layer(states.cells), _by_layer(states.squashed)
    still = _still(stays, positions)
    zero, work = torch.zeros_like(to_last), torch.empty_like(gates[0][0])
    to_h1, to_h2, to_c1, to_c2 = zero, to_last, zero, zero
    for t in reversed(range(positions)):
        own1, own2 = gates[t]
        to_c2 = _cell_backward(own2, cells[t][1], squashed[t][1], to_h2, to_c2, still[t], work)
        to_read = _product(own2, W_2.mT)
        to_h1 = to_h1 + to_read[..., :hidden]
        to_h2 = _kept(to_h2, to_read[..., hidden:], still[t])
        to_c1 = _cell_backward(own1, cells[t][0], squashed[t][0], to_h1, to_c1, still[t], work)
        if t:
            to_h1 = _kept(to_h1, _product(own1, W_h1.mT), still[t])
    to_gates1, to_gates2 = states.gates.unbind(-4)
    read = states.read.flatten(-3, -2)
    before = read[..., : (positions - 1) * examples, :hidden]
    to_W_h1 = _product(before.mT, to_gates1[..., 1:, :, :].flatten(-3, -2).to(dtype))
    to_start = torch.cat([to_gates1.select(-3, 0), to_gates2.select(-3, 0), to_c1, to_c2], -1)
    to_gates2 = to_gates2.flatten(-3, -2)
    return to_gates1, to_W_h1, _product(read.mT, to_gates2.to(dtype)), to_gates2.sum(-2), to_start


def _cell_backward(
    gates: Tensor, c: Tensor, squashed: Tensor, to_h: Tensor, to_c: Tensor, stays: Tensor | None, work: Tensor
) -> Tensor:
    """Replace the gates of a layer at a position by their gradient; return the gradient with respect to c before it."""
    if usable_on(gates.device):
        from .triton.lstm import cell_backward

        return cell_backward(gates, c, squashed, to_h, to_c, stays)
    hidden = c.shape[-1]
    i, f, o, g = gates.split(hidden, -1)
    to_i, to_f, to_o, to_g = work.split(hidden, -1)
    to_new = torch.ops.aten.tanh_backward(to_h * o, squashed).add_(to_c)
    torch.mul(to_new, g, out=to_i)
    torch.mul(to_new, c, out=to_f)
    torch.mul(to_h, squashed, out=to_o)
    torch.mul(to_new, i, out=to_g)
    to_new.mul_(f)
    sigmoids = gates[..., : 3 * hidden]
    torch.ops.aten.sigmoid_backward.grad_input(work[..., : 3 * hidden], sigmoids, grad_input=sigmoids)
    torch.ops.aten.tanh_backward.grad_input(to_g, g, grad_input=g)
    if stays is None:
        return to_new
    gates.mul_(~stays)
    return torch.where(stays, to_c, to_new)


def _kept(to_state: Tensor, to_before: Tensor, stays: Tensor | None) -> Tensor:
    """The gradient with respect to a state before a position: that of the state behind it is added where it stays."""
    return to_before if stays is None else torch.where(stays, to_state, to_before)


def _by_layer(states: Tensor) -> list[tuple[Tensor, ...]]:
    """States [… layer place example width] by place, then by layer."""
    return list(zip(*(own.unbind(-3) for own in states.unbind(-4)), strict=True))


def _still(stays: Tensor | None, positions: int) -> Sequence[Tensor | None]:
    """By position, which examples stay; None where none does, which a CPU can tell at no cost."""
    if stays is None:
        return [None] * positions
    each = stays.unbind(-3)
    return each if stays.is_cuda else [own if own.any() else None for own in each]


def _add_product(out: Tensor, a: Tensor, b: Tensor) -> None:
    """out += a b, in the precision of b."""
    if b.dtype != out.dtype:
        out.add_(_product(a, b))
    else:  # FLOP counters do not know the in-place methods
        (torch.addmm if out.ndim == 2 else torch.baddbmm)(out, a, b, out=out)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """a b, computed in the precision of b and returned in that of a."""
    return torch.matmul(a.to(b.dtype), b).to(a.dtype)


def _read_rows(table: Tensor, row: Tensor, out: Tensor) -> None:
    """Write table[row] of one run or of stacked runs."""
    if table.ndim == 2 and not table.is_cuda:
        torch.index_select(table, 0, row, out=out)
    else:
        torch.gather(table, -2, row.unsqueeze(-1).expand(*row.shape, table.shape[-1]), out=out)


def _sums(reads: Tensor, plan: Plan) -> Tensor:
    """For each row of the table, the sum of what its reads [… position example gates] received."""
    flat = reads.flatten(-3, -2)
    if flat.ndim == 2 or usable_on(flat.device):
        return _row_sums(flat, plan, None, 1)
    return torch.stack([_row_sums(own, Plan(*each), None, 1) for own, *each in zip(flat, *plan, strict=True)])


class _LastState(torch.autograd.Function):
    """`last_state` of one run or of stacked runs, as an autograd function."""

    @staticmethod
    def forward(
        table: Tensor,
        W_h1: Tensor,
        W_2: Tensor,
        b_2: Tensor,
        start: Tensor | None,
        stays: Tensor | None,
        row: Tensor,
        order: Tensor,
        starts: Tensor,
        dtype: torch.dtype,
    ) -> Any:
        return _forward(table, W_h1, W_2, b_2, start, stays, row, dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        *tensors, ctx.dtype = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*tensors, *output[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, to_last: Tensor | None, *_: None) -> Any:
        table, W_h1, W_2, b_2, start, stays, *rest = ctx.saved_tensors
        nothing = (None,) * 5
        if to_last is None:
            return (None,) * 10
        plan = Plan(*rest[:3])
        if torch.is_grad_enabled():  # for a second derivative
            last = plain_last_state(table, W_h1, W_2, b_2, start, stays, plan)
            needed = ctx.needs_input_grad[:5]
            wanted = [tensor for tensor, is_ in zip((table, W_h1, W_2, b_2, start), needed, strict=True) if is_]
            found = iter(torch.autograd.grad(last, wanted, to_last, create_graph=True))
            return *(next(found) if is_ else None for is_ in needed), *nothing
        to_gates1, *others, to_start = _backward(to_last, W_h1, W_2, stays, _States(*rest[3:]), ctx.dtype)
        return _sums(to_gates1, plan), *others, None if start is None else to_start, *nothing

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> Any:
        *tensors, dtype = inputs
        stacked = [
            None if tensor is None else _batched(info.batch_size, tensor, dim)
            for tensor, dim in zip(tensors, in_dims, strict=False)
        ]
        return _LastState.apply(*stacked, dtype), (0,) * 5
