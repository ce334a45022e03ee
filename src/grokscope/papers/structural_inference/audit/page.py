"""An audit as sections of a page: what holds in which arm, figures, and every statement for every run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....figures import RunCurves, figures
from ....report import Section, picture_of
from .clock import elapsed, learning_rates
from .contraction import decay_of_steps
from .evidence import Evidence, Values
from .prior import divergence_so_far, envelope_of, fall_constant, fall_of, unfit
from .proportion import proportionality
from .statements import Audit

FIGURES = ("si-audit-mass", "si-audit-norm", "si-audit-divergence", "si-audit-bound")


def with_claims(curves: RunCurves, run: Evidence) -> RunCurves:
    """A run with what the statements claim of it as further columns, NaN where they claim nothing."""
    net = run.trained
    claims: dict[str, float | Values | None] = {
        "gamma": net.gamma if net else None,
        "gamma_sampled": net.gamma_sampled if net else None,
        "uniform": 1 / run.length,
        "delta_nec": run.delta_nec,
        "r_max": run.norm_range[1] if run.norm_range else None,
        "free_decay": _free_decay(run),
        "envelope": _envelope(run),
    }
    columns = {name: np.nan if value is None else value for name, value in claims.items()}
    return replace(curves, metrics=run.metrics.assign(**columns))


def _free_decay(run: Evidence) -> Values | None:
    """‖θ_mem‖ Π (1 − λ) from t_mem on."""
    start, optim = run.phases.t_mem, run.config.optim
    if start is None or not optim.weight_decay or run.config.constraint.norm:
        return None
    decay = decay_of_steps(learning_rates(run.config, int(run.epochs[-1])), optim.weight_decay)
    kept = np.log1p(-np.minimum(decay, 1 - 1e-9))
    spent = elapsed(kept, run.config, run.epochs)
    left = run.at("mlp_norm", start) * np.exp(spent - spent[np.searchsorted(run.epochs, start)])
    return np.where(run.epochs >= start, left, np.nan)


def _envelope(run: Evidence) -> Values | None:
    if unfit(run):
        return None
    _, measured, spent = divergence_so_far(run)
    place = fall_of(measured)
    if place is None or not np.isfinite(constant := fall_constant(measured, spent, place)):
        return None
    return envelope_of(measured, constant * spent)


def sections(audits: Sequence[Audit], curves: Sequence[RunCurves]) -> tuple[Section, Section]:
    """The summary with its figures, and every statement for every run; one curve per audit, in the same order."""
    arms = list(dict.fromkeys(curve.arm for curve in curves))
    by_arm = {arm: [a for a, curve in zip(audits, curves, strict=True) if curve.arm == arm] for arm in arms}
    rows = []
    for place, statement in enumerate(audits[0].statements):
        counts = [tally([audit.statements[place].outcome for audit in by_arm[arm]]) for arm in arms]
        rows.append((f"{statement.number}: {statement.name}", *counts))
    together = proportionality(audits)
    drawn = [with_claims(curve, audit.evidence) for curve, audit in zip(curves, audits, strict=True)]
    summary = Section(
        name="audit",
        title="The theory, checked on these runs",
        text=(
            "Each statement of the paper is checked on each run's logged metrics and checkpoints. “Empty” means that it "
            "holds because it asks for nothing: uniform attention, or any weights, would pass.",
            f"{together.number}, {together.name}: {together.outcome}. {together.text}",
        ),
        header=("statement", *arms),
        rows=tuple(rows),
        pictures=tuple(picture_of(spec, drawn) for spec in map(figures.spec, FIGURES) if not spec.missing(drawn)),
    )
    detail = [
        (f"{audit.evidence.id}, {curve.arm}, seed {curve.seed}", f"{s.number}: {s.name}", s.outcome, s.text)
        for audit, curve in zip(audits, curves, strict=True)
        for s in audit.statements
    ]
    every = Section(
        name="audit-runs",
        title="The theory, run by run",
        header=("run", "statement", "verdict", "what the run shows"),
        rows=tuple(detail),
    )
    return summary, every


def tally(outcomes: Sequence[str]) -> str:
    """How often each verdict was given; one word where all agree."""
    counts = Counter(outcomes)
    return outcomes[0] if len(counts) == 1 else ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
