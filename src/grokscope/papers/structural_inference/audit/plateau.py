"""Eq. 5 and the four phases of §5.1, for runs without a prior: is the plateau as long as claimed, and are the phases there?"""

from __future__ import annotations

from typing import Any

import torch

from ....priors.kl import KL
from ..equations import free_decay_time, plateau_length
from .base import CheckedStatement, Statement, fmt
from .contraction import mean_decay
from .evidence import Evidence

LENGTH = Statement("Eq. 5", "least length of the plateau")
PHASES = Statement("§5.1", "four phases, and the train loss rises in the third")

BUMP = 1.005
"""Train loss over its minimum on the plateau from which it counts as risen."""


def plateau(run: Evidence) -> CheckedStatement:
    """Is t_c − t_mem at least (2/λ) log(‖θ_mem‖ / r_max)?"""
    span, optim = run.phases.plateau, run.config.optim
    if why := _unfit(run):
        return LENGTH.skip(why)
    if run.norm_range is None:
        return LENGTH.skip(f"not grokked by epoch {run.phases.last_epoch}, so r_max is unknown")
    if span is None or span.end <= span.start:
        return LENGTH.skip(_sentence(run, 1))
    decay = mean_decay(run, span.start, span.end)
    if not 0 < decay < 1:
        return LENGTH.skip(f"λ = {fmt(decay)} is not between 0 and 1")
    measured = (span.end - span.start) * run.config.steps_per_epoch
    norm, ceiling = run.at("mlp_norm", span.start), run.norm_range[1]
    at_memory, at_most = (torch.tensor(value, dtype=torch.float64) for value in (norm, ceiling))
    least, free = (time(at_memory, at_most, decay).item() for time in (plateau_length, free_decay_time))
    ended = "" if run.phases.t_c is not None else ", ended by grokking"
    text = (
        f"Plateau of {fmt(measured)} steps (epochs {span.start} to {span.end}{ended}) against at least {fmt(least)}"
        f" (λ = {fmt(decay)}, ‖θ_mem‖ = {fmt(norm)}, r_max = {fmt(ceiling)}); decay alone takes {fmt(free)}."
    )
    if least <= 0:
        text += " Empty: the norm was within the shell when the training set was memorised."
    numbers = {
        "plateau": measured,
        "least": least,
        "free_decay": free,
        "decay": decay,
        "weight_decay": optim.weight_decay,
        "norm_mem": norm,
        "r_max": ceiling,
        "ended_by": "t_c" if run.phases.t_c is not None else "t_grok",
        "empty": least <= 0,
    }
    return LENGTH.decide(measured >= least, text, **numbers)


def phases(run: Evidence) -> CheckedStatement:
    """Are all four phases found by the written rule, and does the train loss rise before grokking?"""
    found = run.phases
    numbers: dict[str, Any] = {
        "t_mem": found.t_mem,
        "t_c": found.t_c,
        "t_grok": found.t_grok,
        "fall": found.fall,
        "rise": found.rise,
        "loss_bump": found.loss_bump,
    }
    if why := _unfit(run):
        seen = (
            "there was none"
            if found.plateau is None
            else f"there was one, epochs {found.plateau.start} to {found.plateau.end}"
        )
        hint = f"; Thm 5.2 says that the oracle prior leaves no plateau: {seen}" if _oracle(run) else ""
        return PHASES.skip(why + hint, **numbers)
    if found.t_mem is None or found.t_grok is None or found.t_grok <= found.t_mem:
        return PHASES.skip(" ".join((_sentence(run, 0), _sentence(run, 3))), **numbers)
    if found.fall is None:
        return PHASES.skip(_sentence(run, 1), **numbers)
    rose = found.loss_bump is not None and found.loss_bump >= BUMP
    there = found.plateau is not None and found.resurgence is not None
    return PHASES.decide(there and rose, " ".join(found.describe()), **numbers)


def _unfit(run: Evidence) -> str:
    """Why §5.1 does not speak of this run; empty where it does."""
    config = run.config
    if config.prior.beta:
        return f"§5.1 is about training without a prior; here β = {config.prior.beta:g}"
    if not config.optim.weight_decay:
        return "there is no weight decay"
    if config.constraint.norm:
        return "norm matching holds the MLP norm fixed"
    if config.constraint.attention != "learned":
        return "attention is frozen"
    return ""


def _oracle(run: Evidence) -> bool:
    prior = run.config.prior
    return isinstance(prior, KL) and prior.beta > 0 and prior.target == "oracle"


def _sentence(run: Evidence, phase: int) -> str:
    """What the written rule says of one phase."""
    return run.phases.describe()[phase]
