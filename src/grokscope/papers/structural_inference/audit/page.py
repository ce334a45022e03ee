"""An audit as sections of a page: what held in which arm, the pictures, and every run in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....figures import RunCurves, recorded
from ....report import Picture, PicturePlan, Section, picture_of
from ..figures import audit as figures
from .clock import elapsed, learning_rates
from .contraction import decay_of_steps
from .evidence import Evidence, Values
from .prior import divergence_so_far, envelope_of, unfit
from .statements import Audit

PLANS = (
    PicturePlan(
        figures.mass_against_threshold,
        "mass_worst",
        "Attention against γ",
        "Log-log line charts: least attention on an informative position over epochs, with γ as a level line.",
        "Thm 4.3 asks that the coloured line be above the black one once a run has grokked. Where γ lies below the "
        "dotted line, uniform attention is enough and the condition is empty. The dashed γ takes the sampled L_max: no "
        "true L_max allows a larger γ.",
    ),
    PicturePlan(
        figures.norm_against_decay,
        "mlp_norm",
        "MLP norm against decay",
        "Log-log line charts: MLP norm over epochs, the outer radius r_max, and the norm that decay alone would leave.",
        "Eq. 5 takes the plateau for the time in which decay brings the norm from memorisation down to r_max. If the "
        "coloured line does not follow the dashed one, the task gradient is not negligible on the plateau. r_max is "
        "the largest norm from t_grok on.",
    ),
    PicturePlan(
        figures.divergence_under_envelope,
        "D",
        "D against its envelope",
        "Log-log line charts: divergence D over epochs, with the exponential envelope and the level δ_nec.",
        "Eq. 52 says that with the oracle prior D stays under the dashed line, whose rate is β̃ = ηβ. The grey level is "
        "δ_nec, which D must be below once a run has grokked; where D starts below it, Cor. 4.5 is empty.",
    ),
    PicturePlan(
        figures.bound_ratio,
        "bound_ratio",
        "Lemma 5.1 over time",
        "Log-log line charts: largest gradient on an attention logit over its bound, over epochs, below 1 throughout.",
        "How much of its bound (tight form) the task gradient on an attention logit uses, at its largest. Above 1 there "
        "would be a bug; far below 1 the bound is loose, and says little about how starved attention is.",
    ),
)


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
    return envelope_of(measured, spent)


def sections(audits: Sequence[Audit], curves: Sequence[RunCurves]) -> tuple[Section, Section]:
    """The summary with its pictures, and every run in words; a curve for each audit, in the same order."""
    arms = list(dict.fromkeys(curve.arm for curve in curves))
    by_arm = {arm: [a for a, curve in zip(audits, curves, strict=True) if curve.arm == arm] for arm in arms}
    rows = []
    for place, statement in enumerate(audits[0].statements):
        counts = [tally([audit.statements[place].outcome for audit in by_arm[arm]]) for arm in arms]
        rows.append((f"{statement.number}: {statement.name}", *counts))
    drawn = [with_claims(curve, audit.evidence) for curve, audit in zip(curves, audits, strict=True)]
    summary = Section(
        name="audit",
        title="The theory, checked on these runs",
        text=(
            "Each statement of the paper is checked on each run's logged metrics and checkpoints. “Empty” means that it "
            "holds because it asks for nothing: uniform attention, or any weights, would pass.",
        ),
        header=("statement", *arms),
        rows=tuple(rows),
        pictures=tuple(_picture(plan, drawn) for plan in PLANS if recorded(drawn, plan.needs)),
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


def _picture(plan: PicturePlan, runs: Sequence[RunCurves]) -> Picture:
    return picture_of(plan.draw(runs), plan.draw.__name__, plan.title, plan.caption, plan.shows)
