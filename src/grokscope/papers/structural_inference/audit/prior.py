"""Thm 5.2 on a run with the oracle prior: does D fall as fast as Eq. 52 says, and is the delay as short as Eq. 7 says?

The paper's β̃ is an *effective* strength, proportional to ηβ with a constant that it does not give (learning rate, embeddings
and chain rule are "abstracted" into it). Here β̃ = c·ηβ per step, with the learning rate and the strength of that step, and c is
fitted to the first fall of D, down to D_0/e: what is checked is whether D goes on falling as it began. Whether c is the same for
every β, as "proportional" says, takes several runs (`proportion.py`).
"""

from __future__ import annotations

import numpy as np
import torch

from ....priors.kl import KL
from ..equations import delay_bound, divergence_envelope, sparse_divergence_envelope
from .base import CheckedStatement, Statement, fmt
from .clock import elapsed, prior_speed
from .evidence import Evidence, Values

ENVELOPE = Statement("Eq. 52", "D decays exponentially, at the rate of its first fall")
DELAY = Statement("Eq. 7, 53", "most delay that the prior leaves")

SLACK = 1e-5
"""Relative rounding of D, logged in float32."""


def envelope(run: Evidence) -> CheckedStatement:
    """Once D has fallen to D_0/e, is D_t ≤ D_0 exp(−c Σ ηβ) at every later evaluation, with the c of that fall?"""
    if why := unfit(run):
        return ENVELOPE.skip(why)
    epochs, measured, spent = divergence_so_far(run)
    if len(epochs) < 2 or not measured[0] > 0:
        return ENVELOPE.skip("D was 0 from the start, or measured only once")
    place = fall_of(measured)
    if place is None:
        lowest = f"D fell from {fmt(float(measured[0]))} to {fmt(float(measured.min()))} at the lowest"
        return ENVELOPE.skip(f"{lowest}, never to D_0/e, so the constant of β̃ is unknown")
    constant = fall_constant(measured, spent, place)
    bound = envelope_of(measured, constant * spent)
    ratio = (measured / np.maximum(bound, np.finfo(np.float64).tiny))[place + 1 :]
    over = np.flatnonzero(ratio > 1 + SLACK) + place + 1
    steps = epochs * run.config.steps_per_epoch
    speed = float(spent[-1] / steps[-1])
    early = float(np.log(measured[0] / max(measured[place], 1e-300)) / steps[place])
    late = float(np.log(measured[0] / max(measured[-1], 1e-300)) / steps[-1])
    sparse = _sparse_envelope_of(run, measured, spent)
    later = len(epochs) - place - 1
    numbers = {
        "D_first": float(measured[0]),
        "D_last": float(measured[-1]),
        "speed": speed,
        "constant": constant,
        "t_fall": int(epochs[place]),
        "rate_measured": early,
        "rate_whole_run": late,
        "worst_ratio": float(ratio.max()) if later else None,
        "violations": len(over),
        "first_violation": int(epochs[over[0]]) if len(over) else None,
        "evaluations": later,
        "worst_ratio_sparse": float((measured / sparse).max()),
    }
    text = (
        f"D fell to D_0/e by epoch {int(epochs[place])}: β̃ = {fmt(constant)} ηβ = {fmt(early)} per step; over the whole run"
        f" {fmt(late)} per step, from {fmt(float(measured[0]))} to {fmt(float(measured[-1]))}."
    )
    if not later:
        return ENVELOPE.skip(f"{text} No evaluation comes later.", **numbers)
    if len(over):
        text += (
            f" Above the envelope at {len(over)} of {later} later evaluations, first at epoch {int(epochs[over[0]])},"
            f" at most {fmt(float(ratio.max()))} times."
        )
    else:
        text += f" Below the envelope at all {later} later evaluations."
    return ENVELOPE.decide(not len(over), text, **numbers)


def delay(run: Evidence) -> CheckedStatement:
    """Did the run grok within (1/β̃) log(D_0 / δ_nec) steps after it memorised, with the β̃ of the first fall of D?"""
    if why := unfit(run):
        return DELAY.skip(why)
    delta = run.delta_nec
    if delta is None:
        return DELAY.skip(run.obstacle or "γ = 0, so δ_nec is unbounded")
    if delta <= 0:
        return DELAY.skip(f"γ = {fmt(run.gamma)} is not below 1/k, so no D is small enough", delta_nec=delta)
    epochs, measured, spent = divergence_so_far(run)
    if not measured[0] > 0:
        return DELAY.skip("D was 0 from the start", delta_nec=delta)
    place = fall_of(measured)
    if place is None:
        return DELAY.skip("D never fell to D_0/e, so the constant of β̃ is unknown", delta_nec=delta)
    first, enough = torch.tensor([measured[0], delta], dtype=torch.float64)
    needed = delay_bound(first, enough, fall_constant(measured, spent, place)).item()
    bound = _epoch_of(run, needed)
    t_mem, t_grok, last = run.phases.t_mem, run.phases.t_grok, run.phases.last_epoch
    waited = (last if t_grok is None else t_grok) - (t_mem or 0)
    crossed = epochs[measured <= delta]
    numbers = {
        "D_first": float(measured[0]),
        "delta_nec": delta,
        "bound": bound,
        "delay": waited,
        "t_mem": t_mem,
        "t_grok": t_grok,
        "t_delta": int(crossed[0]) if len(crossed) else None,
        "empty": needed <= 0,
    }
    limit = f"more than the {last}" if bound is None else fmt(bound)
    text = f"D_0 = {fmt(float(measured[0]))}, δ_nec = {fmt(delta)}: at most {limit} epochs; "
    if t_grok is None:
        text += f"not grokked {waited} epochs after memorising." if t_mem is not None else f"not grokked by {last}."
        return (
            DELAY.decide(False, text, **numbers)
            if bound is not None and waited > bound
            else DELAY.skip(text, **numbers)
        )
    text += f"grokked {max(waited, 0)} epochs after memorising (epoch {t_grok})."
    if needed <= 0:
        text += " D was below δ_nec from the start, so the bound leaves no delay at all."
    return DELAY.decide(bound is None or waited <= bound, text, **numbers)


def fall_of(measured: Values) -> int | None:
    """The first evaluation at which D has fallen to D_0/e; None if there is none."""
    down = np.flatnonzero(measured <= measured[0] / np.e)
    return int(down[0]) if len(down) and down[0] > 0 else None


def fall_constant(measured: Values, spent: Values, place: int) -> float:
    """c of β̃ = c·ηβ from the fall of D up to an evaluation; infinite if the prior had not acted by then."""
    fallen = float(np.log(measured[0] / max(measured[place], 1e-300)))
    return fallen / float(spent[place]) if spent[place] > 0 else np.inf


def unfit(run: Evidence) -> str:
    """Why Thm 5.2 does not speak of this run; empty where it does."""
    config = run.config
    if not config.prior.beta:
        return "β = 0"
    if not isinstance(config.prior, KL):
        return f"the prior is not the KL prior, but {config.prior.kind}"
    if config.prior.target != "oracle":
        return f"the target is not the oracle, but {config.prior.target}"
    return "attention is frozen" if config.constraint.attention != "learned" else ""


def divergence_so_far(run: Evidence) -> tuple[Values, Values, Values]:
    """Epochs, D, and Σ ηβ by then."""
    speed = prior_speed(run.config, int(run.epochs[-1]))
    return run.epochs, run.column("D"), elapsed(speed, run.config, run.epochs)


def envelope_of(measured: Values, spent: Values) -> Values:
    """Eq. 52 with Σ β̃ as its clock."""
    first = torch.full((len(spent),), float(measured[0]), dtype=torch.float64)
    bound: Values = divergence_envelope(first, torch.from_numpy(spent.copy()), 1.0).numpy()
    return bound


def _sparse_envelope_of(run: Evidence, measured: Values, spent: Values) -> Values:
    """What holds for a sparse oracle along the paper's flow, with the least attention so far."""
    mass = np.minimum.accumulate(run.column("mass_worst"))
    first, spent_, mass_ = (torch.from_numpy(v.copy()) for v in (np.full_like(spent, measured[0]), spent, mass))
    bound: Values = sparse_divergence_envelope(first, spent_, float(run.informative), mass_, 1.0).numpy()
    return bound


def _epoch_of(run: Evidence, needed: float) -> float | None:
    """The epoch by which Σ ηβ has reached `needed`; 0 where nothing is needed, None where the run ends before."""
    if needed <= 0:
        return 0.0
    spent = np.cumsum(prior_speed(run.config, int(run.epochs[-1])))
    step = int(np.searchsorted(spent, needed))
    return None if step >= len(spent) else (step + 1) / run.config.steps_per_epoch
