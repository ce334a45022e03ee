"""What a run-step costs at least, counted by tracing one: multiply-adds and shapes of its matrix products, bytes that must move.

The step is that of the fleet for a single run, computed from the model's own `forward`: what depends on a token and its
position alone is computed once, where the model knows it. Matrix products are counted by PyTorch's FLOP counter, those
of the optimizer included. Look-ups and elementwise operations are no products: they are listed, but have no part in the limit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from .fleet import loaded

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from ..fleet.program import Program
    from ..tickets import Origin

PRODUCTS = ("mm", "addmm", "bmm", "baddbmm")
LOOKUPS = ("embedding", "index", "gather", "scatter", "searchsorted", "sort")
"""How the names of look-ups begin or end."""


class Product(NamedTuple):
    """A product [rows × inner] · [inner × columns], `batch` of them in one call and `calls` calls in a run-step."""

    rows: int
    inner: int
    columns: int
    batch: int = 1
    transposed: tuple[bool, bool] = (False, False)
    """Whether each factor is stored transposed."""
    calls: int = 1

    @property
    def multiply_adds(self) -> int:
        return self.calls * self.batch * self.rows * self.inner * self.columns


class Cost(NamedTuple):
    """Cost of a run-step."""

    products: tuple[Product, ...]
    multiply_adds: int
    """Of all products that PyTorch's FLOP counter knows."""
    lookups: int
    """Numbers returned by look-ups, sorting and sums over look-ups."""
    elementwise: int
    """Numbers returned by all other operations that compute something."""
    bytes: dict[str, int]
    """Bytes that must cross memory: data are read, weights and optimizer state are read and written."""
    activations: int
    """Bytes that the forward pass keeps for the backward pass."""


def step_cost(config: RunConfig, origin: Origin | None = None) -> Cost:
    """The cost of a run-step, traced on the CPU in float32."""
    own = replace(config, precision="float32")
    program = loaded(own, [config.seed], torch.device("cpu"), origin, fuse=False)
    saved: dict[int, int] = {}
    weights = {weight.untyped_storage().data_ptr() for weight in program.weights.values()}

    def keep(tensor: Tensor) -> Tensor:
        place = tensor.untyped_storage().data_ptr()
        if place not in weights and tensor.is_floating_point():
            saved[place] = tensor.untyped_storage().nbytes()
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with hooks, FlopCounterMode(display=False) as counter, _Operations() as seen:
        program._eager_step()
    products = tuple(product._replace(calls=calls) for product, calls in seen.products.items())
    return Cost(
        products, counter.get_total_flops() // 2, seen.lookups, seen.elementwise, _bytes(program), sum(saved.values())
    )


def _bytes(program: Program) -> dict[str, int]:
    def size(tensors: Any) -> int:
        return sum(tensor[0].numel() * tensor.element_size() for tensor in tensors)

    optimizer, filter_ = program.state["optim"], program.state["filter"]
    found = {
        "data": size(program._batch().values()),
        "weights": 2 * size([program.flat]),
        "optimizer state": 2 * size(optimizer.values()),
        "filter state": 2 * size(filter_.values()),
        "mask": 0 if program.mask is None else size([program.mask]),
    }
    return {name: count for name, count in found.items() if count}


class _Operations(TorchDispatchMode):
    """Records the shapes of matrix products and the sizes of everything else."""

    def __init__(self) -> None:
        super().__init__()
        self.products: Counter[Product] = Counter()
        self.lookups = self.elementwise = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name in PRODUCTS:
            a, b = args[:2] if name in ("mm", "bmm") else args[1:3]
            (rows, inner), columns = a.shape[-2:], b.shape[-1]
            batch = len(a) if a.ndim == 3 else 1
            self.products[Product(rows, inner, columns, batch, (_transposed(a), _transposed(b)))] += 1
        elif not func.is_view and isinstance(first := out[0] if isinstance(out, tuple) else out, torch.Tensor):
            if any(word in name for word in LOOKUPS):
                self.lookups += first.numel()
            else:
                self.elementwise += first.numel()
        return out


def _transposed(matrix: Tensor) -> bool:
    return matrix.stride(-1) != 1 and matrix.stride(-2) == 1
