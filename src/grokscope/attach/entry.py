"""`grokscope.watch`: a scope on a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .attention import Choice
from .scope import Scope
from .tokens import Tokens

if TYPE_CHECKING:
    from torch import nn


def watch(
    model: nn.Module,
    *,
    informative: Any = None,
    query: Any = -1,
    padding: Any = None,
    every: int = 25,
    layers: int | str | Sequence[int | str] | None = None,
    heads: int | Sequence[int] | None = None,
    to: str | Path | None = None,
    name: str = "",
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    track: str | Any | Sequence[Any] = (),
    again: bool = False,
) -> Scope:
    """Watch the attention of any network in your own training loop, and guide it with a prior.

        with grokscope.watch(model, informative=mask, query=-1, to="runs/mine") as scope:
            for batch in loader:
                loss = model(**batch).loss + scope.prior(beta=0.3)
                loss.backward(); optimizer.step(); optimizer.zero_grad()
                scope.step(loss=loss)

    informative   which tokens decide the answer: bool [position], [batch, position] or [batch, query, position]; token ids; or a
                  function of the batch (what the model was called with) that returns such a mask
    query         positions whose attention counts: one, several, int [batch, query], a mask, or a function of the batch; negative
                  ones count from the last token that is not padding
    padding       a token id, bool [batch, position] that is True on padding, or a function of the batch; by default what
                  `attention_mask` says, where the model is called with one
    every         steps between rows
    layers        those that count, by number or name; all by default
    heads         those that count in each layer; all by default
    to            folder of runs to store the rows in
    name          what the run is called there
    seed          which repetition it is
    settings      whatever else distinguishes the run, such as {"lr": 1e-3}
    track         "tensorboard", "wandb", "trackio", an object with `log(row)` and `finish()`, or a function from name and settings
                  to one; or several
    again         replace a stored run that has the same settings
    """
    if not isinstance(every, int) or every < 1:
        raise ConfigError("every", f"{every!r} is not a number of steps above 0")
    tracked = list(track) if isinstance(track, (list, tuple)) else [track]
    return Scope(
        model,
        tokens=Tokens(informative=informative, query=query, padding=padding),
        choice=Choice(layers=layers, heads=heads),
        every=every,
        to=to,
        name=name,
        seed=seed,
        settings=settings or {},
        track=tracked,
        again=again,
    )
