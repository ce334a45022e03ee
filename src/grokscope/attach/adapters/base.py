"""Base class of adapters: which layers a network has, and how their attention is shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ...registry import Registry

if TYPE_CHECKING:
    from torch import nn

    from ..passes import Eye

adapters: Registry[type[Adapter]] = Registry("adapter", "grokscope.attach.adapters")


class Layer(NamedTuple):
    """A layer with attention, found before any forward pass."""

    name: str
    """Name of its module."""
    kind: str
    """Class of its module."""
    heads: int | None = None
    note: str = ""


class Adapter(ABC):
    """One way in which networks compute attention."""

    kind: ClassVar[str] = ""
    alone: ClassVar[bool] = False
    """Whether it sees all attention of the networks it is for: no other adapter is used then."""

    @classmethod
    @abstractmethod
    def find(cls, model: nn.Module) -> list[Layer]:
        """The layers of this kind in a model. The model is not changed."""

    @contextmanager
    def attached(self, model: nn.Module, eye: Eye) -> Iterator[None]:
        """Context in which every forward pass shows its attention to the eye. The model is restored afterwards."""
        yield
