"""Thm 4.3, the conditions B_γ and N, and Cor. 4.5: how much attention a net that generalises must have, as a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ....thresholds import reaches
from ..equations import norm_condition
from .base import CheckedStatement, Statement, fmt, percent
from .evidence import Evidence, Values
from .replay import delta_nec

DECOUPLING = Statement("Thm 4.3", "attention that zero test error needs")
CONDITIONS = Statement("Def. 4.1, 4.2", "B_γ and N come before grokking")
COROLLARY = Statement("Cor. 4.5", "D ≤ δ_nec once grokked")

GENERALISED = 0.99
"""Test accuracy from which a net counts as one that generalises."""
SLACK = 1e-6
"""Relative rounding of what was logged in float32."""


def decoupling(run: Evidence) -> CheckedStatement:
    """Does the trained net give every informative position γ = c / (L_max Δ_emb), and every pair at least that much?"""
    net = run.trained
    if net is None:
        return DECOUPLING.skip(run.obstacle)
    numbers: dict[str, Any] = {
        "epoch": net.epoch,
        "accuracy": net.accuracy,
        "c": net.margin,
        "lipschitz_upper": net.lipschitz,
        "lipschitz_sampled": net.lipschitz_sampled,
        "delta_emb": net.spread,
        "gamma": net.gamma,
        "gamma_sampled": net.gamma_sampled,
        "uniform": 1 / run.length,
        "ceiling": 1 / run.informative,
        "mass_worst": net.mass_worst,
        "pair_least": net.pair_least,
        "pair_ratio_least": min(shares := _pair_ratios(run), default=None),
        "pairs": run.pairs,
        "exhaustive": run.exhaustive,
    }
    if net.gamma is None or net.gamma_sampled is None:
        return DECOUPLING.skip("two inputs of different class have the same output, so c = 0 and γ = 0", **numbers)
    heads = f" for the mean of {net.heads} heads" if net.heads > 1 else ""
    gamma = (
        f"γ = {fmt(net.gamma)}{heads} (c = {fmt(net.margin)} over {_count(run)}, L_max ≤ {fmt(net.lipschitz)},"
        f" Δ_emb = {fmt(net.spread)}), {fmt(net.gamma_sampled)} with the sampled L_max ≥ {fmt(net.lipschitz_sampled)}."
    )
    if not reaches(net.accuracy, GENERALISED):
        why = f"the net does not generalise (test accuracy {percent(net.accuracy)}); for the record, {gamma}"
        return DECOUPLING.skip(why, **numbers)
    seen = (
        f" Least attention {fmt(net.mass_worst)}, least sum of a pair {fmt(net.pair_least)}; at {len(shares)} checkpoints"
        f" least sum over the net's own γ {fmt(min(shares))}."
    )
    enough = net.mass_worst >= net.gamma and min(shares) >= 1 - SLACK
    empty = net.gamma_sampled < 1 / run.length
    return DECOUPLING.decide(enough, gamma + seen + _worth(run, net.gamma, net.gamma_sampled), empty=empty, **numbers)


def conditions(run: Evidence) -> CheckedStatement:
    """What came first: B_γ, the pair condition, N, or grokking?"""
    net, t_grok = run.trained, run.phases.t_grok
    if net is None or net.gamma is None or net.gamma_sampled is None:
        return CONDITIONS.skip(run.obstacle or "γ = 0")
    mass = run.column("mass_worst")
    t_structure = _since(run.epochs, mass >= net.gamma * (1 - SLACK))
    checkpoints = np.array([found.epoch for found in run.replays], dtype=np.float64)
    t_pairs = _since(checkpoints, np.array([found.pair_least >= net.gamma for found in run.replays]))
    t_sampled = _since(run.epochs, mass >= net.gamma_sampled * (1 - SLACK))
    times: dict[str, Any] = {
        "gamma": net.gamma,
        "t_structure": t_structure,
        "t_structure_sampled": t_sampled,
        "t_pairs": t_pairs,
        "first_checkpoint": int(checkpoints[0]),
        "t_norm": None,
        "t_grok": t_grok,
    }
    pairs = f"pair condition {_when(t_pairs)} (checkpoints from {int(checkpoints[0])} on)"
    if run.norm_range is None or t_grok is None:
        why = f"not grokked by epoch {run.phases.last_epoch}, so r_min and r_max of N are unknown"
        held = f"with γ = {fmt(net.gamma)} of the last net B_γ {_when(t_structure)}, {pairs}"
        return CONDITIONS.skip(f"{why}; {held}.", **times)
    low, high = run.norm_range
    norm = run.column("mlp_norm")
    shell = (torch.tensor(r, dtype=torch.float64) for r in (low * (1 - SLACK), high * (1 + SLACK)))
    t_norm = _since(run.epochs, norm_condition(torch.from_numpy(norm.copy()), *shell).holds.numpy())
    times |= {"t_norm": t_norm, "r_min": low, "r_max": high}
    order = sorted((t, name) for name, t in (("B_γ", t_structure), ("N", t_norm), ("t_grok", t_grok)) if t is not None)
    text = (
        f"B_γ {_when(t_structure)} ({_when(t_sampled)} with the sampled L_max),"
        f" N ({fmt(low)} ≤ ‖θ‖ ≤ {fmt(high)}) {_when(t_norm)}, t_grok {t_grok}; {pairs}."
        f" Order: {', '.join(name for _, name in order)}."
    )
    first = int(run.epochs[0])
    if t_structure == first:
        text += f" B_γ never failed, from epoch {first} on: it does not tell the nets apart."
    in_time = t_structure is not None and t_structure <= t_grok
    return CONDITIONS.decide(in_time, text, empty=t_structure == first, **times)


def corollary(run: Evidence) -> CheckedStatement:
    """Is D at most log(1/(kγ)) from t_grok on, in the mean at every evaluation and for the worst input at checkpoints?"""
    t_grok, delta = run.phases.t_grok, run.delta_nec
    if delta is None:
        return COROLLARY.skip(run.obstacle or "γ = 0")
    if t_grok is None:
        return COROLLARY.skip(f"not grokked by epoch {run.phases.last_epoch}", delta_nec=delta)
    largest = float(run.column("D")[run.epochs >= t_grok].max())
    later = [found.divergence_worst for found in run.replays if found.epoch >= t_grok]
    worst = max(later, default=None)
    uniform = delta_nec(run.informative, 1 / run.length)  # D of uniform attention
    numbers = {
        "delta_nec": delta,
        "D_largest": largest,
        "D_worst_input": worst,
        "D_uniform": uniform,
        "D_first": float(run.column("D")[0]),
        "empty": uniform <= delta,
    }
    text = (
        f"δ_nec = {fmt(delta)}; from t_grok on D ≤ {fmt(largest)} at every evaluation (mean of inputs),"
        f" ≤ {fmt(worst)} at checkpoints (worst input)."
    )
    if uniform <= delta:
        text += f" Empty: uniform attention has D = {fmt(uniform)}."
    return COROLLARY.decide(max(largest, worst or 0.0) <= delta * (1 + SLACK), text, **numbers)


def _pair_ratios(run: Evidence) -> list[float]:
    """Least α_j + α'_j over γ of each checkpoint: Eq. 27 is proved for every net, so below 1 there is a bug."""
    return [found.pair_least / found.gamma for found in run.replays if found.gamma is not None]


def _worth(run: Evidence, gamma: float, sampled: float) -> str:
    """Whether a condition with this γ says anything."""
    if gamma > 1 / run.informative:
        return f" Impossible: no attention gives {run.informative} positions more than {fmt(1 / run.informative)} each."
    uniform = 1 / run.length
    if gamma >= uniform:
        return ""
    both = " even with the sampled L_max" if sampled < uniform else ""
    return f" Empty{both}: uniform attention ({fmt(uniform)}) satisfies it."


def _count(run: Evidence) -> str:
    return f"{'all' if run.exhaustive else 'a sample of'} {run.pairs:,} pairs"


def _since(epochs: Values, met: np.ndarray) -> int | None:
    """The first epoch from which a condition held to the end; None if it does not hold at the end."""
    failed = np.flatnonzero(~met)
    start = 0 if not len(failed) else int(failed[-1]) + 1
    return int(epochs[start]) if start < len(epochs) else None


def _when(epoch: int | None) -> str:
    return "not at the end" if epoch is None else f"since {epoch}"
