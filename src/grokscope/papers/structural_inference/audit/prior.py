"""Thm 5.2 on a run with the oracle prior: does D fall as fast as Eq. 52 says, and is the delay as short as Eq. 7 says?

β̃ is "proportional to ηβ" in the paper. Here β̃ = ηβ per step, the learning rate and the strength of that step; for two
informative positions the constant of Lemma D.1 is 1, so this is also what its proof gives for plain gradient descent on logits.
"""

from __future__ import annotations

import numpy as np
import torch

from ....priors.kl import KL
from ..equations import delay_bound, divergence_envelope, sparse_divergence_envelope
from .base import CheckedStatement, Statement, fmt
from .clock import elapsed, prior_speed
from .evidence import Evidence, Values

ENVELOPE = Statement("Eq. 52", "D decays exponentially with β̃ = ηβ")
DELAY = Statement("Eq. 7, 53", "most delay that the prior leaves")

SLACK = 1e-5
"""Relative rounding of D, logged in float32."""


def envelope(run: Evidence) -> CheckedStatement:
    """Is D_t ≤ D_0 exp(−Σ β̃) at every evaluation?"""
    if why := unfit(run):
        return ENVELOPE.skip(why)
    epochs, measured, spent = divergence_so_far(run)
    if len(epochs) < 2 or not measured[0] > 0:
        return ENVELOPE.skip("D was 0 from the start, or measured only once")
    bound = envelope_of(measured, spent)
    ratio = measured / np.maximum(bound, np.finfo(np.float64).tiny)
    over = np.flatnonzero(ratio > 1 + SLACK)
    steps = epochs * run.config.steps_per_epoch
    speed = float(spent[-1] / steps[-1])
    early, late = _rate_to_fall(steps, measured), float(np.log(measured[0] / max(measured[-1], 1e-300)) / steps[-1])
    sparse = _sparse_envelope_of(run, measured, spent)
    numbers = {
        "D_first": float(measured[0]),
        "D_last": float(measured[-1]),
        "speed": speed,
        "rate_measured": early,
        "rate_ratio": early / speed,
        "rate_whole_run": late,
        "worst_ratio": float(ratio.max()),
        "violations": len(over),
        "first_violation": int(epochs[over[0]]) if len(over) else None,
        "evaluations": len(epochs),
        "worst_ratio_sparse": float((measured / sparse).max()),
    }
    text = (
        f"β̃ = {fmt(speed)} per step; D fell from {fmt(float(measured[0]))} at first by {fmt(early)} per step"
        f" ({fmt(early / speed)} β̃), over the whole run by {fmt(late)}, to {fmt(float(measured[-1]))}."
    )
    if len(over):
        text += (
            f" Above the envelope at {len(over)} of {len(epochs)} evaluations, first at epoch {int(epochs[over[0]])},"
            f" at most {fmt(float(ratio.max()))} times."
        )
    else:
        text += f" Below the envelope at all {len(epochs)} evaluations."
    return ENVELOPE.decide(not len(over), text, **numbers)


def delay(run: Evidence) -> CheckedStatement:
    """Did the run grok within (1/β̃) log(D_0 / δ_nec) steps after it memorised?"""
    if why := unfit(run):
        return DELAY.skip(why)
    delta = run.delta_nec
    if delta is None:
        return DELAY.skip(run.obstacle or "γ = 0, so δ_nec is unbounded")
    if delta <= 0:
        return DELAY.skip(f"γ = {fmt(run.gamma)} is not below 1/k, so no D is small enough", delta_nec=delta)
    epochs, measured, _ = divergence_so_far(run)
    if not measured[0] > 0:
        return DELAY.skip("D was 0 from the start", delta_nec=delta)
    first, enough = torch.tensor([measured[0], delta], dtype=torch.float64)
    needed = delay_bound(first, enough, 1.0).item()
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
    """Epochs, D, and Σ β̃ by then."""
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


def _rate_to_fall(steps: Values, measured: Values) -> float:
    """One over the steps in which D first fell to D_0/e; where it never fell so far, the mean rate of the whole run."""
    down = np.flatnonzero(measured <= measured[0] / np.e)
    end = int(down[0]) if len(down) else len(steps) - 1
    return float(np.log(measured[0] / max(measured[end], 1e-300)) / steps[end])


def _epoch_of(run: Evidence, needed: float) -> float | None:
    """The epoch by which Σ β̃ has reached `needed`; 0 where nothing is needed, None where the run ends before."""
    if needed <= 0:
        return 0.0
    spent = np.cumsum(prior_speed(run.config, int(run.epochs[-1])))
    step = int(np.searchsorted(spent, needed))
    return None if step >= len(spent) else (step + 1) / run.config.steps_per_epoch
