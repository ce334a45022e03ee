"""Products with weights, followed while a module works: what queries and keys are made from, and which weights make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


class Frame:
    """One module at work."""

    def __init__(self, name: str):
        self.name = name
        self.inputs: dict[tuple[int, ...], Tensor] = {}
        """The distinct inputs of its products with weights, since it began or since its last attention call."""
        self.weights: list[Tensor] = []
        """The weights of these products."""
        self.owner: list[Tensor] | None = None
        """Weights of its last attention call, which the product that follows, that with W_O, joins."""

    def multiply(self, given: Tensor, weight: Tensor) -> None:
        if self.owner is not None:
            self.owner.append(weight)
            self.owner = None
            return
        self.inputs[_identity(given)] = given
        self.weights.append(weight)

    def attend(self) -> list[Tensor]:
        """The weights behind an attention call; its W_O will be added to them."""
        weights, self.weights, self.inputs = self.weights, [], {}
        self.owner = weights
        return weights

    def reads(self, batch: int, queries: int, positions: int) -> tuple[Tensor, Tensor] | None:
        """The one tensor [batch position d] that all products of this module read; None if there are several or none."""
        if len(self.inputs) != 1 or queries != positions:
            return None
        (stream,) = self.inputs.values()
        if stream.numel() != batch * positions * stream.shape[-1] or stream.ndim not in (2, 3):
            return None
        if stream.ndim == 3 and stream.shape[:2] != (batch, positions):
            return None
        stream = stream.reshape(batch, positions, -1)
        return stream, stream


def _identity(given: Tensor) -> tuple[int, ...]:
    """Equal for two views of all of a tensor; under vmap, where storage cannot be seen, for the same object only."""
    try:
        return given.data_ptr(), given.numel(), given.shape[-1]
    except RuntimeError:
        return (id(given),)


def handlers(multiplied: Callable[[Tensor, Tensor], None]) -> dict[Any, Callable[..., Any]]:
    """Handlers of the functions that multiply with a weight; `multiplied` is called with the input and the weight."""

    def handler(given_at: int) -> Callable[..., Any]:
        def multiply(function: Any, *args: Any, **kwargs: Any) -> Any:
            if len(args) > given_at + 1:
                given, weight = args[given_at : given_at + 2]
                # of two activations, as in a product of queries and keys, neither is a weight
                if isinstance(weight, torch.Tensor) and weight.ndim == 2 and weight.is_leaf:
                    multiplied(given, weight)
            return function(*args, **kwargs)

        return multiply

    products = (torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__)
    return {F.linear: handler(0), torch.addmm: handler(1)} | dict.fromkeys(products, handler(0))
