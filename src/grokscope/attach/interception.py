"""Torch functions of a forward pass, seen while they are called. Nothing is patched: other models and threads are not affected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch.overrides import TorchFunctionMode

Handler = Callable[..., Any]
"""Called with the function, its arguments and keyword arguments; returns what the function returns."""


class Interception(TorchFunctionMode):
    """Inside, calls of some torch functions go through handlers. A handler itself runs outside."""

    def __init__(self, handlers: Mapping[Callable[..., Any], Handler]):
        super().__init__()
        self.handlers = handlers

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        handler = self.handlers.get(func)
        if handler is None:
            return func(*args, **(kwargs or {}))
        return handler(func, *args, **(kwargs or {}))
