"""Rows of a table, looked up by token and position, with the transpose planned once.

Keys, values and attention logits of a first layer depend on (token, position) alone, so they are small tables and the
work per example is a look-up. Its gradient is a sum over the places where each row was read: `Plan` holds those places
sorted by row, so that the sum is a segment sum (no atomics, the same bits every time) on the CPU and on the GPU.

The functions below are written for one run. Stacked runs, each with its own table, are one kernel on a GPU; on a CPU the
vmap rules lay their tables one after another.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.nn.functional as F

from ..shapes import Bool, Float, Int
from .team import block_bounds, each_block
from .triton import usable_on

if TYPE_CHECKING:
    from torch import Tensor

_BLOCK = 512
"""Examples per block on a CPU: what is looked up is still in the cache when it is used."""


class Plan(NamedTuple):
    """Which table row each position of each example reads, and the same sorted by row."""

    row: Int[Tensor, "example position"]
    order: Int[Tensor, "reads"]
    """Flat (example, position) numbers, sorted by the row they read."""
    starts: Int[Tensor, "rows"]
    """Where in `order` each row's reads begin."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.row.shape)

    @property
    def is_read(self) -> Bool[Tensor, "rows"]:
        """Which rows any position reads."""
        end = torch.full_like(self.starts[:1], self.order.shape[0])
        return torch.cat([self.starts[1:], end]) > self.starts

    def for_heads(self, heads: int) -> Plan:
        """The same reads by several heads, each of its own table: the tables lie one after another, and position j of head h is
        read h · positions + j."""
        if heads == 1:
            return self
        rows, reads, length = self.starts.shape[-1], self.order.shape[-1], self.row.shape[-1]
        head = torch.arange(heads, device=self.row.device)
        row = (self.row.unsqueeze(-2) + (head * rows)[:, None]).flatten(-2)
        own = self.order // length * (heads * length) + self.order % length
        order = (own.unsqueeze(-2) + (head * length)[:, None]).flatten(-2)
        return Plan(row, order, (self.starts.unsqueeze(-2) + (head * reads)[:, None]).flatten(-2))

    def by_token(self, vocabulary: int) -> Plan:
        """The same reads of a table with one row per token, independent of position: rows are sorted by token first."""
        positions = self.starts.shape[0] // vocabulary
        return Plan(self.row // positions, self.order, self.starts[::positions].contiguous())


def plan(tokens: Int[Tensor, "example position"], vocabulary: int, positions: int) -> Plan:
    """Rows are numbered token · positions + position. Positions count back from the query, which is the last one:
    a longer test sequence has new positions on its left and the same query position."""
    length = tokens.shape[-1]
    place = torch.arange(positions - length, positions, device=tokens.device)
    index = tokens * positions + place
    flat = index.reshape(*index.shape[:-2], -1)
    order = flat.argsort(dim=-1, stable=True)
    reads = flat.new_zeros(*flat.shape[:-1], vocabulary * positions).scatter_add(-1, flat, torch.ones_like(flat))
    return Plan(index, order, reads.cumsum(-1) - reads)


def lookup(table: Float[Tensor, "rows width"], plan: Plan) -> Float[Tensor, "example position width"]:
    """table[index]"""
    if not table.is_cuda and (
        table.shape[-1] == 1 or table.ndim > 2
    ):  # plain indexing: its transpose is short enough for a CPU
        row = plan.row.flatten(-2).unsqueeze(-1)
        return table.gather(-2, row.expand(*row.shape[:-1], table.shape[-1])).view(*plan.row.shape, -1)
    return _Lookup.apply(table, *plan)


def pool(
    table: Float[Tensor, "rows width"], weight: Float[Tensor, "example position"], plan: Plan
) -> Float[Tensor, "example width"]:
    """h = Σ_j weight_j · table[index_j], without storing the looked-up rows."""
    return _Pool.apply(table, weight, *plan)


def pool_heads(
    table: Float[Tensor, "rows width"], weight: Float[Tensor, "example head position"], plan: Plan
) -> Float[Tensor, "example width"]:
    """`pool` with weights of its own for each head's share of the columns."""
    if usable_on(table.device):
        return _PoolHeads.apply(table, weight, *plan)
    reads = lookup(table, plan).unflatten(-1, (weight.shape[-2], -1))  # example, position, head, width
    return torch.einsum("...njhw,...nhj->...nhw", reads, weight.to(reads.dtype)).flatten(-2)


def read_sums(reads: Float[Tensor, "example position width"], plan: Plan) -> Float[Tensor, "rows width"]:
    """For each row, the sum of `reads` over the places that read it: the transpose of `lookup`."""
    return _ReadSums.apply(reads, *plan)


def _lay_out(lanes: int, rows: int, plan: Plan, in_dims: tuple[int | None, ...]) -> Plan:
    """The plans of all lanes as one plan over their tables laid one after another."""
    index, order, starts = _stacked(lanes, plan, in_dims)
    reads = order.shape[-1]
    lane = torch.arange(lanes, device=index.device)
    return Plan(
        (index + (lane * rows)[:, None, None]).flatten(0, 1),
        (order + (lane * reads)[:, None]).flatten(),
        (starts + (lane * reads)[:, None]).flatten(),
    )


def added(token: Float[Tensor, "token width"], place: Float[Tensor, "position width"]) -> Float[Tensor, "rows width"]:
    """The table whose row of a token at a position is the sum of both."""
    if usable_on(token.device):
        return _Added.apply(token, place)
    return (token.unsqueeze(-2) + place.unsqueeze(-3)).flatten(-3, -2)


def distances(
    table: Float[Tensor, "rows width"], point: Float[Tensor, "example width"], plan: Plan
) -> Float[Tensor, "example position"]:
    """‖table[index_j] − point‖; no gradient."""
    return _Distances.apply(table.detach(), point.detach(), plan.row)


def _stacked(lanes: int, plan: tuple[Tensor, ...], in_dims: tuple[int | None, ...]) -> Plan:
    """The plans of all lanes, each with its own row numbers."""
    return Plan(*(_batched(lanes, tensor, dim) for tensor, dim in zip(plan, in_dims, strict=True)))


def _batched(lanes: int, tensor: Tensor, dim: int | None) -> Tensor:
    return tensor.movedim(dim, 0) if dim is not None else tensor.expand(lanes, *tensor.shape)


def _batched_if_given(lanes: int, tensor: Tensor | None, dim: int | None) -> Tensor | None:
    return None if tensor is None else _batched(lanes, tensor, dim)


def _one_axis(tensor: Tensor) -> Float[Tensor, "run row width"]:
    """With one axis for all runs."""
    return tensor.reshape(-1, *tensor.shape[-2:])


def _gather(table: Tensor, index: Tensor) -> Tensor:
    if usable_on(table.device):
        from .triton.lookup import gather

        return gather(table, index)
    return F.embedding(index, table)


def _pool_forward(table: Tensor, weight: Tensor, index: Tensor) -> Tensor:
    if usable_on(table.device):
        from .triton.lookup import pool_forward

        return pool_forward(table, weight, index)
    return F.embedding_bag(index, table, mode="sum", per_sample_weights=weight)


def _pool_weight_backward(grad: Tensor, table: Tensor, index: Tensor) -> Float[Tensor, "example position"]:
    """Gradient with respect to the weight of each read: grad · table[index]."""
    if usable_on(table.device):
        from .triton.lookup import pool_weight_backward

        return pool_weight_backward(grad, table, index)
    examples, positions = index.shape
    backward = torch.ops.aten._embedding_bag_per_sample_weights_backward
    # a recorded graph would go on reading tensors that have left the cache
    bags = (_kept_bags if grad.device.type == "cpu" else _bags)(examples, positions, grad.device)
    return backward(grad.contiguous(), table, index.reshape(-1), *bags, 0, -1).view(examples, positions)


def _bags(examples: int, positions: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Where the reads of each example begin, and the example of each read."""
    begin = torch.arange(0, examples * positions, positions, device=device)
    return begin, torch.arange(examples, device=device).repeat_interleave(positions)


_kept_bags = functools.lru_cache(maxsize=8)(_bags)


def _row_sums(source: Tensor, plan: Plan, weight: Tensor | None, reads_per_source: int) -> Float[Tensor, "rows width"]:
    """Σ over the reads of each row of weight[read] · source[read // reads_per_source]: the transpose of a look-up."""
    if usable_on(source.device):
        from .triton.lookup import row_sums

        return row_sums(source, plan.order, plan.starts, weight, reads_per_source)
    factors = None if weight is None else weight.reshape(-1).index_select(0, plan.order)
    return F.embedding_bag(
        plan.order // reads_per_source, source.contiguous(), plan.starts, mode="sum", per_sample_weights=factors
    )


class _Lookup(torch.autograd.Function):
    @staticmethod
    def forward(table: Tensor, index: Tensor, order: Tensor, starts: Tensor) -> Tensor:
        return _gather(table, index)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.plan = inputs[1:]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _ReadSums.apply(grad, *ctx.plan), None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, table: Tensor, *plan: Tensor) -> Any:
        lanes = info.batch_size
        table = _batched(lanes, table, in_dims[0])
        if usable_on(table.device):
            return _Lookup.apply(table, *_stacked(lanes, plan, in_dims[1:])), 0
        rows, width = table.shape[1:]
        flat = _lay_out(lanes, rows, Plan(*plan), in_dims[1:])
        out = _Lookup.apply(table.reshape(lanes * rows, width), *flat)
        return out.unflatten(0, (lanes, -1)), 0


class _Pool(torch.autograd.Function):
    @staticmethod
    def forward(table: Tensor, weight: Tensor, index: Tensor, order: Tensor, starts: Tensor) -> Tensor:
        return _pool_forward(table, weight, index)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        table, weight, *rest = ctx.saved_tensors
        plan = Plan(*rest)
        wanted = ctx.needs_input_grad
        if torch.is_grad_enabled():  # for a second derivative: the same sums from differentiable operations
            reads = weight[..., None] * grad[..., None, :]
            looked_up = lookup(table, plan)
            return _ReadSums.apply(reads, *plan), (looked_up * grad[..., None, :]).sum(-1), None, None, None
        to_table = _row_sums(grad, plan, weight, plan.shape[-1]) if wanted[0] else None
        to_weight = _pool_weight_backward(grad, table, plan.row) if wanted[1] else None
        return to_table, to_weight, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, table: Tensor, weight: Tensor, *plan: Tensor) -> Any:
        lanes = info.batch_size
        table, weight = _batched(lanes, table, in_dims[0]), _batched(lanes, weight, in_dims[1])
        if usable_on(table.device):
            return _Pool.apply(table, weight, *_stacked(lanes, plan, in_dims[2:])), 0
        rows, width = table.shape[1:]
        flat = _lay_out(lanes, rows, Plan(*plan), in_dims[2:])
        out = _Pool.apply(table.reshape(lanes * rows, width), weight.flatten(0, 1), *flat)
        return out.unflatten(0, (lanes, -1)), 0


class _PoolHeads(torch.autograd.Function):
    """On a GPU, of one run or of stacked runs; bf16 under autocast. There is no second derivative."""

    @staticmethod
    def forward(table: Tensor, weight: Tensor, index: Tensor, order: Tensor, starts: Tensor) -> Tensor:
        rounded = table.bfloat16() if torch.is_autocast_enabled(table.device.type) else table
        return _pool_forward(rounded, weight, index)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        from .triton.lookup import pool_weight_backward

        if torch.is_grad_enabled():
            raise RuntimeError("pool_heads has no second derivative: differentiate the model's logits instead")
        table, weight, *rest = ctx.saved_tensors
        plan = Plan(*rest)
        wanted = ctx.needs_input_grad
        to_table = _row_sums(grad, plan, weight, plan.shape[-1]) if wanted[0] else None
        to_weight = pool_weight_backward(grad, table.to(grad.dtype), plan.row, weight.shape[-2]) if wanted[1] else None
        return to_table, to_weight, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, table: Tensor, weight: Tensor, *plan: Tensor) -> Any:
        lanes = info.batch_size
        table, weight = _batched(lanes, table, in_dims[0]), _batched(lanes, weight, in_dims[1])
        return _PoolHeads.apply(table, weight, *_stacked(lanes, plan, in_dims[2:])), 0


class _ReadSums(torch.autograd.Function):
    @staticmethod
    def forward(reads: Tensor, row: Tensor, order: Tensor, starts: Tensor) -> Tensor:
        return _row_sums(reads.flatten(-3, -2), Plan(row, order, starts), None, 1)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.plan = inputs[1:]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _Lookup.apply(grad, *ctx.plan), None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, reads: Tensor, *plan: Tensor) -> Any:
        lanes = info.batch_size
        if usable_on(reads.device):
            return _ReadSums.apply(_batched(lanes, reads, in_dims[0]), *_stacked(lanes, plan, in_dims[1:])), 0
        rows = plan[2].shape[-1]
        flat = _lay_out(lanes, rows, Plan(*plan), in_dims[1:])
        out = _ReadSums.apply(_batched(lanes, reads, in_dims[0]).flatten(0, 1), *flat)
        return out.unflatten(0, (lanes, -1)), 0


class _Added(torch.autograd.Function):
    """On a GPU: two kernels in place of a broadcast and two sums."""

    @staticmethod
    def forward(token: Tensor, place: Tensor) -> Tensor:
        from .triton.lookup import added

        out = added(_one_axis(token), _one_axis(place), torch.float32)
        return out.view(*token.shape[:-2], *out.shape[1:])

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.tokens = inputs[0].shape[-2]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        if torch.is_grad_enabled():  # for a second derivative
            table = grad.unflatten(-2, (ctx.tokens, -1))
            return table.sum(-2), table.sum(-3)
        from .triton.lookup import added_backward

        found = added_backward(_one_axis(grad), ctx.tokens)
        return tuple(t.view(*grad.shape[:-2], *t.shape[1:]) for t in found)

    @staticmethod
    def vmap(info: Any, in_dims: Any, token: Tensor, place: Tensor) -> Any:
        lanes = info.batch_size
        return _Added.apply(_batched(lanes, token, in_dims[0]), _batched(lanes, place, in_dims[1])), 0


class _Distances(torch.autograd.Function):
    @staticmethod
    def forward(table: Tensor, point: Tensor, row: Tensor) -> Tensor:
        if usable_on(table.device):
            from .triton.lookup import distances

            return distances(table, point, row)
        found = table.new_empty(row.shape)
        blocks = block_bounds(len(row), _BLOCK)

        def block(number: int) -> None:
            part = slice(*blocks[number])
            apart = _gather(table, row[part]).sub_(point[part, None])
            torch.linalg.vector_norm(apart, dim=-1, out=found[part])

        each_block(block, len(blocks))
        return found

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: Any, table: Tensor, point: Tensor, row: Tensor) -> Any:
        lanes = info.batch_size
        table, point, row = (_batched(lanes, t, d) for t, d in zip((table, point, row), in_dims, strict=True))
        if usable_on(table.device):
            return _Distances.apply(table, point, row), 0
        flat = (row + (torch.arange(lanes, device=row.device) * table.shape[1])[:, None, None]).flatten(0, 1)
        return _Distances.apply(table.flatten(0, 1), point.flatten(0, 1), flat).unflatten(0, (lanes, -1)), 0
