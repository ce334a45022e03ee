"""What an argument must be, written beside its axes: ``attention: Float[Tensor, "... position", distribution]``.

A contract reads values, so it is checked only where they can be read without waiting for a device: on numbers and CPU tensors,
outside torch.func transforms and torch.compile. The fleet calls the same functions under vmap or `values_unread`, where nothing
is checked; its own settings are validated before it starts. Tensors on another device are not checked.
"""

from __future__ import annotations

import inspect
import threading
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import maybe_current_level

from ..shapes import match_axes

Number = Tensor | float
"""Of an argument that may be a plain number."""
Sizes = dict[str, int]
Contract = Callable[[Tensor, Sizes], str | None]
"""Returns what is wrong with a value, or None; the second argument holds the sizes of the call's axes."""


def distribution(value: Tensor, sizes: Sizes) -> str | None:
    if (value < 0).any():
        return f"contains {value.min().item():.6g}; a distribution has no negative entries"
    return _sums_to_one(value.sum(-1))


def log_distribution(value: Tensor, sizes: Sizes) -> str | None:
    return _sums_to_one(value.exp().sum(-1))


def support(value: Tensor, sizes: Sizes) -> str | None:
    """At least one position is informative."""
    return None if value.any(-1).all() else "k = 0, no position is informative"


def spare(value: Tensor, sizes: Sizes) -> str | None:
    """At least one position before the query is not informative."""
    return None if (~value[..., :-1]).any(-1).all() else "no distractor is left beside the informative positions"


def positive(value: Tensor, sizes: Sizes) -> str | None:
    return _unless(value > 0, value, "{:.6g} is not above 0")


def nonnegative(value: Tensor, sizes: Sizes) -> str | None:
    return _unless(value >= 0, value, "{:.6g} is below 0")


def share(value: Tensor, sizes: Sizes) -> str | None:
    return _unless((value >= 0) & (value <= 1), value, "{:.6g} is outside [0, 1]")


def below_one(value: Tensor, sizes: Sizes) -> str | None:
    return _unless((value >= 0) & (value < 1), value, "{:.6g} is outside [0, 1)")


def rate(value: Tensor, sizes: Sizes) -> str | None:
    """A share of the weights that decays in one step."""
    return _unless((value > 0) & (value <= 1), value, "{:.6g} is outside (0, 1]")


def everywhere(value: Tensor, sizes: Sizes) -> str | None:
    """A distribution without zeros."""
    return _unless(value > 0, value, "{:.6g} is not above 0; it must have mass at every position")


def within_sequence(value: Tensor, sizes: Sizes) -> str | None:
    length = sizes["position"]
    return _unless((value >= 0) & (value < length), value, f"{{}} is outside a sequence of {length} positions")


def _sums_to_one(total: Tensor) -> str | None:
    rounding = torch.finfo(total.dtype).eps ** 0.5 if total.is_floating_point() else 0.0
    return _unless((total - 1).abs() <= rounding, total, "sums to {:.6g}, not to one")


def _unless(holds: Tensor, value: Tensor, problem: str) -> str | None:
    """`problem` with the first offending value in its braces."""
    return None if holds.all() else problem.format(value[~holds].reshape(-1)[0].item())


class _Trust(threading.local):
    """How many nested `values_unread` blocks this thread is in."""

    depth = 0


_trust = _Trust()


@contextmanager
def values_unread() -> Iterator[None]:
    """Inside, equations do not check their arguments, as under vmap: a run that diverges is measured like any other."""
    _trust.depth += 1
    try:
        yield
    finally:
        _trust.depth -= 1


def values_can_be_read() -> bool:
    return not _trust.depth and not torch.compiler.is_compiling() and maybe_current_level() is None


def checker(function: Callable[..., Any]) -> Callable[..., None]:
    """Checks one call of `function` against its annotations: axes, finite values, contracts. ValueError, one line."""
    signature = inspect.signature(function)
    hints = typing.get_type_hints(function, include_extras=True)
    annotated = {name: h.__metadata__ for name, h in hints.items() if typing.get_origin(h) is typing.Annotated}

    def check(*args: Any, **kwargs: Any) -> None:
        sizes: Sizes = {}
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            axes, *contracts = annotated.get(name, ("",))
            where = f"{function.__name__}({name})"
            if name in annotated and isinstance(value, Tensor):
                try:
                    match_axes(where, axes, value.shape, sizes)
                except TypeError as error:
                    raise ValueError(str(error)) from None
            for part in _readable(value):
                problem = _not_finite(part) or next(filter(None, (c(part, sizes) for c in contracts)), None)
                if problem:
                    raise ValueError(f"{where}: {problem}")

    return check


def _readable(value: Any) -> Iterator[Tensor]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _readable(item)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield torch.tensor(value, dtype=torch.float64)
    elif isinstance(value, Tensor) and value.device.type == "cpu" and value.numel():
        yield value.detach()


def _not_finite(value: Tensor) -> str | None:
    return _unless(value.isfinite(), value, "{:.6g} is not finite")
