"""Which tokens inform, which positions ask, and which are padding: what a user may give, resolved for one forward pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from ..errors import ConfigError
from ..shapes import Bool, Int

if TYPE_CHECKING:
    from torch import Tensor

    from .passes import Pass


@dataclass(frozen=True, kw_only=True)
class Queries:
    """The positions whose attention counts."""

    rows: Int[Tensor, "batch query"]
    counts: Bool[Tensor, "batch query"] | None
    """False for places that only fill a row up, where sequences have different numbers of queries."""

    def flat(self, tensor: Tensor) -> Tensor:
        """[example …] from [batch query …]: one example per query."""
        flat = tensor.flatten(0, 1)
        return flat if self.counts is None else flat[self.counts.flatten()]


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """What the user said about the tokens of a batch."""

    informative: Any = None
    """bool [position], [batch position] or [batch query position]; token ids; or a function of the batch that returns a mask."""
    query: Any = -1
    """A position, several, int [batch query], bool [position] or [batch position], or a function of the batch; negative positions
    count from the last token that is not padding."""
    padding: Any = None
    """A token id, bool [batch position] that is True on padding, or a function of the batch."""

    def __post_init__(self) -> None:
        mask = self.informative
        if isinstance(mask, torch.Tensor) and mask.is_floating_point():
            raise ConfigError(
                "informative", "is a tensor of real numbers; give a mask of booleans, or token ids as integers"
            )
        if isinstance(mask, str):
            raise ConfigError(
                "informative", "is a string; give a mask of booleans, token ids, or a function of the batch"
            )

    def queries(self, seen: Pass, batch: int, length: int) -> Queries:
        """
        batch    sequences in the pass
        length   positions that may ask
        """
        given = self.query(seen.batch) if callable(self.query) else self.query
        where = _tensor(given).to(seen.device)
        if where.dtype == torch.bool:
            return _chosen(_mask("query", where, (batch, length)))
        if where.is_floating_point():
            raise ConfigError("query", "is not a position; give integers or a mask of booleans")
        if where.ndim > 2 or (where.ndim == 2 and where.shape[0] != batch):
            raise ConfigError("query", f"has shape {tuple(where.shape)}; a batch of {batch} needs [{batch}, query]")
        rows = where.reshape(-1, where.shape[-1] if where.ndim else 1).expand(batch, -1)
        if not rows.numel():
            raise ConfigError("query", "no position is given")
        ends = self._lengths(seen, batch, length)
        rows = torch.where(rows < 0, rows + ends, rows)
        if bool(((rows < 0) | (rows >= ends)).any()):
            wrong = where.flatten()[0].item() if where.numel() == 1 else where.flatten().tolist()[:4]
            shortest = int(ends.min())
            raise ConfigError("query", f"{wrong} is outside a sequence of {shortest} tokens")
        return Queries(rows=rows.contiguous(), counts=None)

    def mask(self, seen: Pass, queries: Queries, batch: int, length: int) -> Bool[Tensor, "example position"] | None:
        """Which positions inform each query; None if that was not said."""
        if self.informative is None:
            return None
        device, shape = queries.rows.device, (batch, queries.rows.shape[1], length)
        given = self.informative(seen.batch) if callable(self.informative) else self.informative
        given = _tensor(given).to(device)
        if given.dtype != torch.bool:
            given = torch.isin(_tokens(seen, "informative", (batch, length)), given)
        mask = _mask("informative", given, shape)
        real = self._real(seen, batch, length)
        if real is not None:
            mask = mask & real[:, None]
        flat = queries.flat(mask)
        if not bool(flat.any(-1).all()):
            place = int((~flat.any(-1)).nonzero()[0])
            raise ConfigError("informative", f"no token informs query {place} of the batch")
        return flat

    def _lengths(self, seen: Pass, batch: int, length: int) -> Int[Tensor, "batch 1"]:
        """The place after the last token of each sequence."""
        real = self._real(seen, batch, length)
        device = seen.device
        places = torch.arange(1, length + 1, device=device).expand(batch, -1)
        return (places if real is None else places * real).amax(-1, keepdim=True)

    def _real(self, seen: Pass, batch: int, length: int) -> Bool[Tensor, "batch position"] | None:
        """Where there is a token and no padding; None if there is no padding."""
        given = self.padding(seen.batch) if callable(self.padding) else self.padding
        if given is None:
            mask = seen.kwargs.get("attention_mask")  # as Hugging Face models take it: 1 for a token, 0 for padding
            fits = isinstance(mask, torch.Tensor) and tuple(mask.shape) == (batch, length)
            return mask.bool() if fits and mask is not None else None
        if isinstance(given, torch.Tensor) and given.dtype == torch.bool:
            return ~_mask("padding", given.to(seen.device), (batch, length))
        if isinstance(given, int):
            return _tokens(seen, "padding", (batch, length)) != given
        raise ConfigError("padding", "is neither a token id nor a mask of booleans [batch, position]")


def _mask(field: str, mask: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A mask with all axes of `shape`, the last of which is position; axes that it lacks are added after the batch."""
    if mask.ndim == 0 or mask.shape[-1] != shape[-1]:
        size = mask.shape[-1] if mask.ndim else 0
        raise ConfigError(field, f"the mask has {size} positions; the network attends over {shape[-1]}")
    if mask.ndim > len(shape) or (mask.ndim > 1 and mask.shape[0] != shape[0]):
        wanted = ", ".join(map(str, shape))
        raise ConfigError(field, f"the mask has shape {tuple(mask.shape)}; this batch needs [{wanted}]")
    if mask.ndim == 1:
        return mask.expand(shape)
    if mask.ndim < len(shape):
        mask = mask[:, None]
    if mask.shape[1:-1] not in (shape[1:-1], (1,)):
        raise ConfigError(field, f"the mask is for {mask.shape[1]} queries, {shape[1]} are asked for")
    return mask.expand(shape)


def _chosen(mask: Bool[Tensor, "batch position"]) -> Queries:
    """The positions of a mask, filled up to equal numbers per sequence."""
    counts = mask.sum(-1)
    most = int(counts.max())
    if not most:
        raise ConfigError("query", "the mask chooses no position")
    order = mask.to(torch.int8).argsort(dim=-1, descending=True, stable=True)[:, :most]
    given = torch.arange(most, device=mask.device) < counts[:, None]
    return Queries(rows=order, counts=None if bool(given.all()) else given)


def _tokens(seen: Pass, field: str, shape: tuple[int, int]) -> Tensor:
    tokens = seen.tokens
    if tokens is None or tuple(tokens.shape) != shape:
        found = "none" if tokens is None else f"one of shape {tuple(tokens.shape)}"
        wanted = ", ".join(map(str, shape))
        raise ConfigError(
            field, f"token ids need a tensor of tokens [{wanted}] among the model's arguments; found {found}"
        )
    return tokens


def _tensor(given: Any) -> Tensor:
    return torch.as_tensor(sorted(given) if isinstance(given, (set, frozenset, range)) else given)
