"""One equation, one function: the decorator that gives a function its number in a paper and its place in the index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ..shapes import checked

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Equation:
    """Where a function comes from."""

    paper: str
    number: str
    function: Callable[..., Any]

    @property
    def statement(self) -> str:
        """The first sentence of the function's docstring."""
        return (self.function.__doc__ or "").strip().splitlines()[0]


_index: dict[tuple[str, str], Equation] = {}


def equation(paper: str, number: str) -> Callable[[F], F]:
    """Register a function as equation `number` of `paper`; no number is claimed twice."""

    def register(function: F) -> F:
        key = (paper, number)
        if key in _index:
            raise ValueError(f"{paper} {number} is claimed by {_index[key].function.__name__} and {function.__name__}")
        wrapped = checked(function)
        _index[key] = Equation(paper=paper, number=number, function=wrapped)
        return wrapped

    return register


def equations() -> list[Equation]:
    """Every registered equation, in the order of registration."""
    return list(_index.values())
