"""One equation, one function: the decorator that gives a function its number in a paper and its place in the index.

The docstring of an equation is read by the index: a sentence, the formula, the symbols (symbol, argument, meaning, two
spaces or more between them), then remarks, each a paragraph apart.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..shapes import checked
from .contracts import checker, values_can_be_read

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Equation:
    """The paper and number of a function, and the parts of its docstring."""

    paper: str
    numbers: tuple[str, ...]
    """Its numbers in the paper; some formulas are printed more than once."""
    tex: str
    bound: bool
    """An inequality: the index holds the tightest ratio found."""
    refuted: str
    """What shows that the paper's statement is not true, whatever constants its lost formula had; empty where nothing does."""
    fails_as_restored: str = ""
    """What shows that the form written here is not true, where the paper's own may be another; empty where nothing does."""
    function: Callable[..., Any] = field(compare=False)

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def theme(self) -> str:
        """The name of its module."""
        return self.function.__module__.rsplit(".", 1)[-1]

    @property
    def is_core(self) -> bool:
        """Whether it stands in `grokscope.theory`, and not among the equations of one paper."""
        return self.function.__module__.rpartition(".")[0] == __package__

    @property
    def statement(self) -> str:
        """The first paragraph of the docstring."""
        return self._paragraphs()[0].replace("\n", " ")

    @property
    def formula(self) -> str:
        return self._paragraphs()[1]

    @property
    def symbols(self) -> list[tuple[str, ...]]:
        """Rows of symbol, argument and meaning."""
        return [tuple(re.split(r"\s{2,}", line)) for line in self._paragraphs()[2].splitlines()]

    @property
    def remarks(self) -> list[str]:
        """What the docstring adds after the symbols."""
        return [part.replace("\n", " ") for part in self._paragraphs()[3:]]

    def _paragraphs(self) -> list[str]:
        return inspect.cleandoc(self.function.__doc__ or "").split("\n\n")


_index: dict[tuple[str, str], Equation] = {}


def equation(
    paper: str, *numbers: str, tex: str, bound: bool = False, refuted: str = "", fails_as_restored: str = ""
) -> Callable[[F], F]:
    """Register a function as `numbers` of `paper` (no number twice) and check its arguments against their contracts."""

    def register(function: F) -> F:
        inner, check = checked(function), checker(function)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if values_can_be_read():
                check(*args, **kwargs)
            return inner(*args, **kwargs)

        entry = Equation(
            paper=paper,
            numbers=numbers,
            tex=tex,
            bound=bound,
            refuted=refuted,
            fails_as_restored=fails_as_restored,
            function=wrapped,
        )
        for number in numbers:
            if (paper, number) in _index:
                first = _index[paper, number].name
                raise ValueError(f"{paper} {number} is registered for {first} and {function.__name__}")
            _index[paper, number] = entry
        return wrapped  # type: ignore[return-value]

    return register


def equations() -> list[Equation]:
    """Every equation registered so far, in the order of registration; `grokscope.papers.all_equations` imports them all."""
    return list(dict.fromkeys(_index.values()))
