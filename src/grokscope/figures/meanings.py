"""What each colour stands for, in every figure: the table of meanings, and which arm has which.

Colours: Okabe and Ito (2008) and Tol's muted scheme, and others that colour-blind readers can tell from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, NamedTuple

Dashes = str | tuple[float, tuple[float, ...]]


class Look(NamedTuple):
    """How an arm is drawn."""

    colour: str
    dashes: Dashes = "-"
    marker: str = "o"


class Meaning(NamedTuple):
    """What a colour stands for, in every figure."""

    look: Look
    names: str
    """Arms with this meaning, or the parts of their names between commas; separated by semicolons."""


MEANINGS = {
    "baseline": Meaning(
        Look("#0072B2", "-", "o"),
        "no prior; dense; dense to the end; none; nothing; baseline; its baseline; all runs; as it was; parent; watched; "
        "checkpoint; plain training; AdamW; full batch; float32",
    ),
    "oracle prior": Meaning(
        Look("#009E73", (0, (6, 1.5)), "s"),
        "oracle; oracle prior; frozen oracle; KL prior; structure",
    ),
    "oracle prior and weight decay": Meaning(Look("#053300", "-", "D"), "oracle and decay"),
    "wrong prior": Meaning(
        Look("#D55E00", (0, (1.5, 1)), "v"), "adversarial; adversarial prior; wrong prior; adversarial and decay"
    ),
    "uniform": Meaning(
        Look("#E69F00", (0, (4, 1, 1, 1)), "D"), "uniform; uniform target; frozen uniform; uniform attention"
    ),
    "ticket": Meaning(
        Look("#CC79A7", (0, (6, 1.5)), "^"),
        "ticket; grokking ticket; whole ticket; lottery ticket; global ticket; layer-wise ticket; ticket to the end; "
        "ticket at grokking; ticket after 10,000 epochs",
    ),
    "L1 norm of the ticket": Meaning(Look("#A9AE69", (0, (3, 1)), "<"), "L1 norm"),
    "L2 norm of the ticket": Meaning(Look("#1F5F35", (0, (1.5, 1)), ">"), "L2 norm"),
    "random": Meaning(Look("#8C510A", (0, (1.5, 1)), "X"), "random; random ticket; random target"),
    "attention": Meaning(
        Look("#56B4E9", (0, (4, 1, 1, 1)), "P"),
        "attention; attention input; attention weights only; ticket of attention; routing ticket; Bayesian ticket; "
        "given attention; given attention and embedding; deprived of attention; deprived of attention and embedding; "
        "attention as it is; attention gradient × 10; attention as large as the MLP; W_O",
    ),
    "query and key": Meaning(Look("#C32248", (0, (3, 1, 1, 1)), "<"), "query/key path; W_Q; W_K"),
    "value": Meaning(Look("#CDA9A2", (0, (3, 1)), ">"), "value path; W_V"),
    "MLP": Meaning(
        Look("#882255", (0, (3, 1)), "p"),
        "MLP; MLP input; MLP weights only; ticket of the MLP; given MLP; given MLP and unembedding; deprived of MLP; "
        "deprived of MLP and unembedding; MLP × 10; norm; W_in; W_out; W_1; W_2",
    ),
    "attention and MLP": Meaning(
        Look("#332288", (0, (6, 1, 1, 1)), "h"),
        "both; both inputs; LayerNorm at both inputs; ticket of attention and MLP",
    ),
    "larger decay": Meaning(Look("#0103AB", (0, (3, 1)), "D"), "larger decay"),
    "EGD": Meaning(Look("#0A01FB", (0, (6, 1.5)), "s"), "EGD"),
    "Grokfast-EMA": Meaning(Look("#F65748", "-", "^"), "Grokfast-EMA"),
    "Grokfast-MA": Meaning(Look("#D9686E", (0, (4, 1.5)), "v"), "Grokfast-MA"),
    "Lion": Meaning(Look("#09BDC9", (0, (1.5, 1)), "P"), "Lion"),
    "Muon": Meaning(Look("#8B64DF", (0, (4, 1, 1, 1)), "X"), "Muon"),
    "OrthoGrad": Meaning(Look("#872284", (0, (6, 1.5)), "p"), "OrthoGrad"),
    "search": Meaning(Look("#A415FF", (0, (3, 1)), "h"), "search"),
    "SGD": Meaning(Look("#062255", "-", "<"), "SGD"),
    "StableMax": Meaning(Look("#C4217B", (0, (3, 1, 1, 1)), ">"), "StableMax"),
    "weight noise": Meaning(Look("#1441CA", (0, (1.5, 1)), "o"), "weight noise"),
}
"""The table of meanings: an arm that has one is drawn in its colour by every figure."""
OTHERS = ("#000000", "#9C55F6", "#067279", "#DA0BB8", "#7E011A", "#8D93FE")
"""Colours of arms without a meaning, in order."""
_NAMED = {name: meaning for meaning in MEANINGS.values() for name in meaning.names.split("; ")}
TARGETS = {"oracle": "oracle prior", "adversarial": "wrong prior", "uniform": "uniform", "random": "random"}
"""Meanings of priors by their targets."""
_BY_SETTINGS: ContextVar[Mapping[str, str]] = ContextVar("meanings by settings", default=MappingProxyType({}))


def meaning_of(arm: str) -> Meaning | None:
    """The meaning of an arm: that of the last part of its name (between commas) that has one, else that of its settings."""
    by_name = next((_NAMED[part] for part in reversed(arm.split(", ")) if part in _NAMED), None)
    return by_name or MEANINGS.get(_BY_SETTINGS.get().get(arm, ""))


@contextmanager
def meant_by_settings(meanings: Mapping[str, str]) -> Iterator[None]:
    """Arms have these meanings, where their names tell none; see `meanings_by_settings`."""
    token = _BY_SETTINGS.set(meanings)
    try:
        yield
    finally:
        _BY_SETTINGS.reset(token)


def meanings_by_settings(arms: Sequence[str], settings: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Meanings of arms that their settings tell: whoever trains with a prior towards the operands calls it `β = 0.3` or `kl`.

    Only where some arm has another meaning, and not where strengths differ: these are a sequence.

    arms       the arm of each run
    settings   those of each run, by dotted name
    """
    found: dict[str, set[tuple[str, float]]] = {}
    for arm, own in zip(arms, settings, strict=True):
        found.setdefault(arm, set()).add(_prior(own))
    one = {arm: kinds.pop() if len(kinds) == 1 else ("", 0.0) for arm, kinds in found.items()}
    strengths = {name: {beta for meaning, beta in one.values() if meaning == name} for name in TARGETS.values()}
    if len({meaning for meaning, _ in one.values()}) < 2:
        return {}
    return {arm: meaning for arm, (meaning, _) in one.items() if meaning and len(strengths[meaning]) == 1}


def _prior(own: Mapping[str, Any]) -> tuple[str, float]:
    """Meaning and strength of a constant KL prior; of others, and without one, no meaning."""
    beta = own.get("prior.beta") or 0.0
    plain = own.get("prior.kind", "kl") == "kl" and own.get("prior.schedule", "constant") == "constant"
    return (TARGETS.get(str(own.get("prior.target", "oracle")), ""), float(beta)) if plain and beta > 0 else ("", 0.0)
