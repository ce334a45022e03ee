"""Shapes in signatures: ``Float[Tensor, "example position"]`` documents axes for the reader and is checked under pytest.

An axis is a word (the same size wherever the word occurs in one call), a number, or ``...`` for any leading axes.
"""

from __future__ import annotations

import functools
import inspect
import os
import typing
from collections.abc import Callable
from typing import Annotated as Bool
from typing import Annotated as Float
from typing import Annotated as Int
from typing import Any, TypeVar

__all__ = ["Bool", "Float", "Int", "checked"]

F = TypeVar("F", bound=Callable[..., Any])


def checked(function: F) -> F:
    """Check annotated shapes at every call when GROKSCOPE_CHECK_SHAPES is set (the test suite sets it); else do nothing."""
    if not os.environ.get("GROKSCOPE_CHECK_SHAPES"):
        return function
    signature = inspect.signature(function)
    axes: dict[str, str] = {}

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not axes:  # at the first call, when every name in the annotations exists
            axes.update(_axes(function))
        sizes: dict[str, int] = {}
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if name in axes and hasattr(value, "shape"):
                match_axes(f"{function.__name__}({name})", axes[name], value.shape, sizes)
        result = function(*args, **kwargs)
        if "return" in axes and hasattr(result, "shape"):
            match_axes(f"{function.__name__} result", axes["return"], result.shape, sizes)
        return result

    return wrapper  # type: ignore[return-value]


def _axes(function: Callable[..., Any]) -> dict[str, str]:
    from torch import Tensor  # most modules import it for type checkers only

    hints = typing.get_type_hints(function, localns={"Tensor": Tensor}, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items() if typing.get_origin(hint) is typing.Annotated}


def match_axes(where: str, axes: str, shape: Any, sizes: dict[str, int]) -> None:
    words = axes.split()
    shape = tuple(shape)
    open_ended = words[:1] == ["..."]
    if open_ended:
        words = words[1:]
        shape = shape[max(len(shape) - len(words), 0) :]
    fits = len(words) == len(shape) and all(
        size == (int(word) if word.isdigit() else sizes.setdefault(word, size))
        for word, size in zip(words, shape, strict=True)
    )
    if not fits:
        raise TypeError(f"{where} should be [{axes}] with {sizes}, got {tuple(shape)}")
