"""Two LSTM layers over sequences of tokens: forward, and a hand-written backward.

With gates i, f, o = σ(·) and g = tanh(·), each layer has c⁺ = f c + i g and h⁺ = o tanh(c⁺). The input of layer 1 depends on the
token alone, so it is a row of a table of gates; layer 2 reads (h₁, h₂) through one matrix. Autograd would keep and copy the states
of every position; here each position is a few operations in place, and the gradient of each matrix is one product over all
positions. Stacked runs are batched products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ..shapes import Bool, Float
from .lookup import Plan, _batched, _gather, _row_sums, lookup
from .triton import usable_on

if TYPE_CHECKING:
    from torch import Tensor

GATES = 4
"""i, f, o, g"""


class _States(NamedTuple):
    """What the backward pass reads, by position; a leading run axis where runs are stacked."""

    gates1: Float[Tensor, "position example gates"]
    """After their nonlinearity, like those of layer 2."""
    gates2: Float[Tensor, "position example gates"]
    cells: Float[Tensor, "place layer example hidden"]
    """c before each position and behind the last one."""
    squashed: Float[Tensor, "position layer example hidden"]
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
) -> Float[Tensor, "example hidden"]:
    """h₂ behind the last position.

    table       what each token adds to the gates of layer 1, its bias included
    sequences   the tokens, as rows of the table
    W_2         what carries (h₁, h₂) to the gates of layer 2
    moves       where False, both layers keep their state; None: they move at every position

    Products are computed in bf16 under autocast; states are kept in the precision of the table.
    """
    stays = None if moves is None else ~moves.mT.unsqueeze(-1)
    kind = table.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else table.dtype
    state: Tensor = _LastState.apply(table, W_h1, W_2, b_2, stays, *_by_position(sequences), dtype)[0]
    return state


def plain_last_state(
    table: Tensor, W_h1: Tensor, W_2: Tensor, b_2: Tensor, stays: Tensor | None, by_position: Plan
) -> Tensor:
    """`last_state` of one run in operations that autograd can differentiate twice."""

    def moved(position: int, old: tuple[Tensor, ...], gates: Tensor) -> tuple[Tensor, ...]:
        new = _cell(gates, old[1])
        return new if stays is None else tuple(map(torch.where, (stays[position],) * 2, old, new))

    first = second = (table.new_zeros(by_position.row.shape[1], W_h1.shape[0]),) * 2
    for position, x in enumerate(lookup(table, by_position)):
        first = moved(position, first, x + first[0] @ W_h1)
        second = moved(position, second, torch.cat([first[0], second[0]], 1) @ W_2 + b_2)
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
    stays: Tensor | None,
    row: Tensor,
    dtype: torch.dtype,
) -> tuple[Tensor, ...]:
    """h₂ behind the last position, and the fields of `_States`."""
    *runs, positions, examples = row.shape
    hidden = W_h1.shape[-2]
    gates1 = _rows(table, row)
    gates2 = b_2[..., None, None, :].expand(*runs, positions, examples, -1).contiguous()
    cells = table.new_zeros(*runs, positions + 1, 2, examples, hidden)
    squashed = table.new_empty(*runs, positions, 2, examples, hidden)
    read = table.new_zeros(*runs, positions + 1, examples, 2 * hidden)  # at the end, h₂ behind the last position
    W_h1, W_2 = W_h1.to(dtype), W_2.to(dtype)

    def move(layer: int, t: int, gates: Tensor, old: Tensor, h: Tensor) -> None:
        c, new_c = (cells.select(-4, place).select(-3, layer) for place in (t, t + 1))
        _activate(gates, c, new_c, squashed.select(-4, t).select(-3, layer), h)
        if stays is not None:
            new_c.copy_(torch.where(stays.select(-3, t), c, new_c))
            h.copy_(torch.where(stays.select(-3, t), old, h))

    zero = read.select(-3, 0)[..., hidden:]
    for t in range(positions):
        now, after = read.select(-3, t), read.select(-3, t + 1)
        h1, h2 = now[..., :hidden], now[..., hidden:]
        before = read.select(-3, t - 1)[..., :hidden] if t else zero
        own1, own2 = gates1.select(-3, t), gates2.select(-3, t)
        if t:  # before the first position, h₁ and h₂ are 0
            _add_product(own1, before, W_h1)
        move(0, t, own1, before, h1)
        if t:
            _add_product(own2, now, W_2)
        else:
            _add_product(own2, h1, W_2[..., :hidden, :])
        move(1, t, own2, h2, after[..., hidden:])
    last = read.select(-3, positions)[..., hidden:].contiguous()
    return last, gates1, gates2, cells, squashed, read.narrow(-3, 0, positions)


def _activate(gates: Tensor, c: Tensor, new_c: Tensor, squashed: Tensor, h: Tensor) -> None:
    """Apply the nonlinearities to the gates in place; write c⁺, tanh c⁺ and h⁺."""
    hidden = c.shape[-1]
    gates[..., : 3 * hidden].sigmoid_()
    gates[..., 3 * hidden :].tanh_()
    i, f, o, g = gates.split(hidden, -1)
    torch.mul(f, c, out=new_c)
    new_c.addcmul_(i, g)
    torch.tanh(new_c, out=squashed)
    torch.mul(o, squashed, out=h)


def _backward(
    to_last: Tensor, W_h1: Tensor, W_2: Tensor, stays: Tensor | None, states: _States, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients with respect to the gates of layer 1 [… position example gates], W_h1, W_2 and b_2."""
    positions, hidden = states.gates1.shape[-3], W_h1.shape[-2]
    to_gates1, to_gates2 = torch.empty_like(states.gates1), torch.empty_like(states.gates2)
    W_h1, W_2 = W_h1.to(dtype), W_2.to(dtype)
    to_h1, to_h2, to_c1, to_c2 = torch.zeros_like(to_last), to_last, torch.zeros_like(to_last), torch.zeros_like(to_last)
    for t in reversed(range(positions)):
        own1, own2 = to_gates1.select(-3, t), to_gates2.select(-3, t)
        still = None if stays is None else stays.select(-3, t)
        to_c2 = _cell_backward(own2, states, 1, t, to_h2, to_c2, still)
        to_read = _product(own2, W_2.mT)
        to_h1 = to_h1 + to_read[..., :hidden]
        to_h2 = to_read[..., hidden:] if still is None else to_read[..., hidden:] + to_h2 * still
        to_c1 = _cell_backward(own1, states, 0, t, to_h1, to_c1, still)
        if t:
            to_h1 = _product(own1, W_h1.mT) if still is None else _product(own1, W_h1.mT) + to_h1 * still
    read = states.read.flatten(-3, -2)
    examples = to_last.shape[-2]
    before = read[..., : (positions - 1) * examples, :hidden]
    to_W_h1 = _product(before.mT, to_gates1.flatten(-3, -2)[..., examples:, :].to(dtype))
    to_W_2 = _product(read.mT, to_gates2.flatten(-3, -2).to(dtype))
    return to_gates1, to_W_h1, to_W_2, to_gates2.sum((-3, -2))


def _cell_backward(
    own: Tensor, states: _States, layer: int, t: int, to_h: Tensor, to_c: Tensor, stays: Tensor | None
) -> Tensor:
    """Write the gradient with respect to the gates of a layer at a position into `own`; return that with respect to c before it."""
    gates = states[layer].select(-3, t)
    c, squashed = (of.select(-4, t).select(-3, layer) for of in (states.cells, states.squashed))
    hidden = c.shape[-1]
    i, f, o, g = gates.split(hidden, -1)
    to_i, to_f, to_o, to_g = own.split(hidden, -1)
    to_new = torch.ops.aten.tanh_backward(to_h * o, squashed).add_(to_c)
    torch.mul(to_new, g, out=to_i)
    torch.mul(to_new, c, out=to_f)
    torch.mul(to_h, squashed, out=to_o)
    torch.mul(to_new, i, out=to_g)
    sigmoids = own[..., : 3 * hidden]
    torch.ops.aten.sigmoid_backward.grad_input(sigmoids, gates[..., : 3 * hidden], grad_input=sigmoids)
    torch.ops.aten.tanh_backward.grad_input(to_g, g, grad_input=to_g)
    to_new.mul_(f)
    if stays is None:
        return to_new
    own.masked_fill_(stays, 0.0)
    return torch.where(stays, to_c, to_new)


def _add_product(out: Tensor, a: Tensor, b: Tensor) -> None:
    """out += a b, in the precision of b."""
    if b.dtype != out.dtype:
        out.add_(_product(a, b))
    elif out.ndim == 2:
        out.addmm_(a, b)
    else:
        out.baddbmm_(a, b)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """a b, computed in the precision of b and returned in that of a."""
    return torch.matmul(a.to(b.dtype), b).to(a.dtype)


def _rows(table: Tensor, row: Tensor) -> Tensor:
    """table[row] of one run or of stacked runs; a new tensor."""
    if table.ndim == 2 or usable_on(table.device):
        return _gather(table, row)
    flat = row.flatten(-2).unsqueeze(-1)
    return table.gather(-2, flat.expand(*flat.shape[:-1], table.shape[-1])).view(*row.shape, -1)


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
        stays: Tensor | None,
        row: Tensor,
        order: Tensor,
        starts: Tensor,
        dtype: torch.dtype,
    ) -> Any:
        return _forward(table, W_h1, W_2, b_2, stays, row, dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        *tensors, ctx.dtype = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*tensors, *output[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, to_last: Tensor | None, *_: None) -> Any:
        table, W_h1, W_2, b_2, stays, *rest = ctx.saved_tensors
        nothing = (None,) * 5
        if to_last is None:
            return None, None, None, None, *nothing
        plan = Plan(*rest[:3])
        if torch.is_grad_enabled():  # for a second derivative
            last = plain_last_state(table, W_h1, W_2, b_2, stays, plan)
            wanted = [tensor for tensor in (table, W_h1, W_2, b_2) if tensor.requires_grad]
            found = iter(torch.autograd.grad(last, wanted, to_last, create_graph=True))
            return *(next(found) if needed else None for needed in ctx.needs_input_grad[:4]), *nothing
        to_gates1, *to_weights = _backward(to_last, W_h1, W_2, stays, _States(*rest[3:]), ctx.dtype)
        return _sums(to_gates1, plan), *to_weights, *nothing

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> Any:
        *tensors, dtype = inputs
        stacked = [
            None if tensor is None else _batched(info.batch_size, tensor, dim)
            for tensor, dim in zip(tensors, in_dims, strict=False)
        ]
        return _LastState.apply(*stacked, dtype), (0,) * 6
