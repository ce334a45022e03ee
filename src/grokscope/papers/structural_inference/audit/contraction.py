"""Def. 3.2 on a run: is every weight, and the MLP as a whole, as small at each evaluation as the one before allows?

The bound of one step is compounded over the steps between two evaluations, with the learning rate of each.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch

from ....models.base import Role
from ..equations import contraction_bound, contraction_radius, decoupled_growth, effective_decay, sgd_growth
from .base import CheckedStatement, Statement, fmt
from .clock import elapsed, learning_rates
from .evidence import Evidence, Values
from .steps import obstacle, step_bound

CONTRACTION = Statement("Def. 3.2", "norms contract with λ = η·wd")

ROUNDING = 1e-5
"""Relative, of squared norms logged in float32."""
MLP = "MLP"


def contraction(run: Evidence) -> CheckedStatement:
    """Worst ratio of a squared norm to its bound over all evaluations, and how fast norms really fell on the plateau."""
    config = run.config
    if why := obstacle(config.optim):
        return CONTRACTION.skip(why)
    if len(run.epochs) < 2:
        return CONTRACTION.skip("there is one evaluation only")
    matrices: dict[str, dict[str, Any]] = {}
    for name, (norms, role, step) in _weights(run).items():
        matrices[name] = {
            "worst_ratio": _worst_ratio(run, norms, role, step),
            "largest_norm": float(norms.max()),
            "radius": float(contraction_radius(step, config.optim.weight_decay)),
            "decay_on_plateau": _measured_decay(run, norms),
        }
    worst = max(matrices, key=lambda name: float(matrices[name]["worst_ratio"]))
    ratio = float(matrices[worst]["worst_ratio"])
    decay = float(effective_decay(config.optim.lr, config.optim.weight_decay))
    empty = all(found["largest_norm"] < found["radius"] for found in matrices.values())
    text = f"λ = {fmt(decay)}. Largest ‖W⁺‖² over its bound: {fmt(ratio)} ({worst})."
    measured = None
    if MLP in matrices:
        measured = matrices[MLP]["decay_on_plateau"]
        if empty:
            text += (
                f" Empty: below the radius sup‖U‖/wd = {fmt(matrices[MLP]['radius'])} growth is allowed,"
                f" and the MLP norm stays under {fmt(matrices[MLP]['largest_norm'])}."
            )
        if measured is not None:
            moved = "lost" if measured >= 0 else "gained"
            text += f" On the plateau the MLP norm {moved} {fmt(abs(measured))} of itself per step, {fmt(abs(measured) / decay)} λ."
    ratio_to_decay = None if measured is None else measured / decay
    return CONTRACTION.decide(
        ratio <= 1 + ROUNDING,
        text,
        worst_ratio=ratio,
        worst_matrix=worst,
        decay=decay,
        decay_measured=measured,
        decay_ratio=ratio_to_decay,
        empty=empty,
        matrices=matrices,
    )


def _weights(run: Evidence) -> dict[str, tuple[Values, Role, float]]:
    """Norms, role and sup‖U‖ of every weight and of the MLP; norm matching takes the MLP out of Def. 3.2."""
    config = run.config
    parameters = config.model.parameters(config.task.shape)
    matched = {name for name, p in parameters.items() if config.constraint.norm and p.part == "mlp"}
    found: dict[str, tuple[Values, Role, float]] = {
        name: (run.column(f"norm_{name}"), p.role, step_bound(config.optim, p))
        for name, p in parameters.items()
        if name not in matched and p.lr is None and p.decays and f"norm_{name}" in run.metrics
    }
    mlp = [found[name] for name, p in parameters.items() if p.part == "mlp" and name in found]
    if mlp and len({role for _, role, _ in mlp}) == 1:
        found[MLP] = (run.column("mlp_norm"), mlp[0][1], float(np.sqrt(sum(step**2 for *_, step in mlp))))
    return found


def _worst_ratio(run: Evidence, norms: Values, role: Role, step: float) -> float:
    """Largest ‖W_b‖² over Q‖W_a‖² + G, where (1 − λ)x + ρ̄ compounds to Qx + G between evaluations a and b."""
    config = run.config
    squares = norms**2
    rates = learning_rates(config, int(run.epochs[-1]), role)
    rates = np.where(rates > 0, rates, np.finfo(np.float64).tiny)  # a cosine ends at 0
    decay = config.optim.weight_decay
    growth = _growth(config.optim.kind, torch.from_numpy(rates), decay, step)
    kept = np.log1p(-decay_of_steps(rates, decay))
    ends = (run.epochs * config.steps_per_epoch).astype(np.int64)
    compounded = [_compound(kept[a:b], growth[a:b]) for a, b in pairwise(ends)]
    shrunk, grown = (torch.tensor(part, dtype=torch.float64) for part in zip(*compounded, strict=True))
    bound = contraction_bound(torch.from_numpy(squares[:-1]), shrunk, grown).numpy()
    return float((squares[1:] / np.maximum(bound, np.finfo(np.float64).tiny)).max())


def decay_of_steps(rates: Values, weight_decay: float) -> Values:
    """λ of every step, from its learning rate."""
    decay: Values = effective_decay(torch.from_numpy(rates), weight_decay).numpy()  # type: ignore[union-attr]
    return decay


def _growth(kind: str, rates: torch.Tensor, decay: float, step: float) -> Values:
    """ρ̄ of every step."""
    growth = (sgd_growth if kind == "sgd" else decoupled_growth)(rates, decay, step)
    assert isinstance(growth, torch.Tensor)
    return growth.numpy()


def _compound(kept: Values, growth: Values) -> tuple[float, float]:
    """1 − Q and G of several steps: Q = Π (1 − λ_s), G = Σ ρ̄_s Π_{r > s} (1 − λ_r)."""
    after = np.concatenate([np.cumsum(kept[::-1])[::-1][1:], [0.0]])
    return float(-np.expm1(kept.sum())), float((growth * np.exp(after)).sum())


def _measured_decay(run: Evidence, norms: Values) -> float | None:
    """How much of itself a norm lost in one step of the plateau: the slope of its logarithm; None without a plateau."""
    span = run.phases.plateau
    if span is None:
        return None
    inside = (run.epochs >= span.start) & (run.epochs <= span.end) & (norms > 0)
    if inside.sum() < 2:
        return None
    steps = run.epochs[inside] * run.config.steps_per_epoch
    return float(-np.polyfit(steps, np.log(norms[inside]), 1)[0])


def mean_decay(run: Evidence, start: float, end: float) -> float:
    """λ of the MLP, averaged over the steps between two epochs: warm-up and schedule make it vary."""
    rates = learning_rates(run.config, int(run.epochs[-1]))
    spent = elapsed(rates, run.config, np.array([start, end]))
    mean_rate = float(spent[1] - spent[0]) / ((end - start) * run.config.steps_per_epoch)
    return float(effective_decay(mean_rate, run.config.optim.weight_decay))
