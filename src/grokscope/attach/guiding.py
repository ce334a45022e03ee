"""A prior on attention that was seen: the penalties of `grokscope.priors`, on one example per query."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import torch

from ..errors import ConfigError
from ..models import Output
from ..priors import Prior
from ..priors.kl import KL
from ..randomness import Key
from ..tasks.base import Examples
from ..theory import uniform_target
from ..theory.contracts import values_unread

if TYPE_CHECKING:
    from torch import Tensor

    from .attention import Attention


SEARCHED = 5000
"""Most nodes of a graph that are searched."""


def penalty_of(prior: Prior, seen: Attention, *, on: str, seed: int, step: int) -> Tensor:
    """The penalty, without its strength."""
    log, target = seen.log, _target(prior, seen, seed)
    unseen = (target > 0) & seen.hidden.all(1)
    if bool(unseen.any()):
        example, position = unseen.nonzero()[0].tolist()
        raise ConfigError("prior", f"its target has mass at position {position}, which is masked for query {example}")
    if on == "each":  # every head as an example of its own
        heads = log.shape[1]
        log, target = log.flatten(0, 1).unsqueeze(1), target.repeat_interleave(heads, 0)
    out = Output(log, attention=log.exp(), log_attention=log, attention_logits=seen.scores)
    key = Key(torch.tensor(seed, device=log.device), torch.tensor(step, device=log.device))
    with values_unread():  # a network that diverges ends with a loss that is not finite, not with an error here
        return prior.penalty(out, target, key)


def _target(prior: Prior, seen: Attention, seed: int) -> Tensor:
    """What the prior draws attention to."""
    informative: Any = seen.informative
    named = getattr(prior, "target", "oracle")
    if named == "teacher":
        raise ConfigError("prior.target", "a teacher is a stored run, whose network cannot read this one's tokens")
    if informative is None:
        if isinstance(prior, KL) and named not in ("uniform", "random"):
            raise ConfigError("informative", f"not given: the target {named} needs it")
        informative = torch.ones_like(seen.log[:, 0], dtype=torch.bool)
        if isinstance(prior, KL) and named == "uniform":
            return uniform_target(informative)
    if named == "adversarial" and bool((seen.queries.rows != informative.shape[-1] - 1).any()):
        raise ConfigError("prior.target", "adversarial is defined for a query at the last position")
    labels = torch.empty(0, dtype=torch.long)
    return prior.target_for(Examples(informative, labels, informative), seed).to(seen.log)


def lacks(loss: Any, term: Tensor) -> bool:
    """Whether a loss is known not to include a term: its graph is small enough to be searched, and the term is not in it."""
    wanted, first = term.grad_fn, getattr(loss, "grad_fn", None)
    if wanted is None or first is None:
        return False
    found, waiting = {first}, deque([first])
    while waiting:
        node = waiting.popleft()
        if node is wanted or len(found) > SEARCHED:
            return False
        new = {following for following, _ in node.next_functions if following is not None} - found
        found |= new
        waiting.extend(new)
    return True
