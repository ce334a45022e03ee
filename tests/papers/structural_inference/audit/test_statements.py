"""Each verdict flips with the numbers it is about: holds, violated, not applicable."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from grokscope.models.transformer import Transformer
from grokscope.optim.adamw import AdamW
from grokscope.papers.structural_inference.audit import check
from grokscope.papers.structural_inference.audit.base import fmt, percent
from grokscope.papers.structural_inference.audit.evidence import finite_rows
from grokscope.papers.structural_inference.audit.gradient import starvation
from grokscope.papers.structural_inference.audit.plateau import phases, plateau
from grokscope.papers.structural_inference.audit.separation import conditions, corollary, decoupling
from grokscope.priors.constraints import Constraints

NEVER = {"test_accuracy": 0.1}


# ── Thm 4.3 ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_decoupling_holds_and_says_gamma(make):
    checked = decoupling(make())
    assert checked.verdict == "holds"
    assert checked.outcome == "holds"
    assert checked.numbers["gamma"] == pytest.approx(0.3)
    assert checked.numbers["gamma_sampled"] == pytest.approx(0.4)
    assert checked.text.startswith(
        "γ = 0.3 (c = 12 over all 24 pairs, L_max ≤ 5, Δ_emb = 8), 0.4 with the sampled L_max"
    )


def test_decoupling_looks_at_the_pairs_of_every_checkpoint(make, replayed):
    """The early net: margin 1, so γ = 0.025, and pairs that have 0.1 or 0.02."""
    for least, verdict in ((0.1, "holds"), (0.02, "violated")):
        checked = decoupling(make(nets=(replayed(epoch=50, margin=1.0, pair_least=least), replayed())))
        assert (checked.verdict, checked.numbers["pair_ratio_least"]) == (verdict, pytest.approx(min(least / 0.025, 3)))


@pytest.mark.parametrize("starved", [{"mass_worst": 0.29}, {"pair_least": 0.29}])
def test_decoupling_is_violated_by_too_little_attention(make, replayed, starved):
    assert decoupling(make(nets=(replayed(**starved),))).verdict == "violated"


def test_decoupling_is_empty_where_uniform_attention_passes(make, replayed):
    checked = decoupling(make(nets=(replayed(margin=1.0),)))
    assert checked.outcome == "holds, empty"
    assert "uniform attention (0.2) satisfies it" in checked.text
    half = decoupling(make(nets=(replayed(margin=7.0),)))  # γ = 0.175, but 0.233 with the sampled L_max
    assert half.outcome == "holds"
    assert "Empty: uniform" in half.text


def test_decoupling_is_impossible_above_one_over_k(make, replayed):
    checked = decoupling(make(nets=(replayed(margin=24.0),)))
    assert checked.verdict == "violated"
    assert "Impossible" in checked.text


def test_decoupling_does_not_apply(make, replayed):
    assert decoupling(make(nets=())).text == "no net"
    lost = decoupling(make(nets=(replayed(accuracy=0.5),)))
    assert lost.verdict == "not applicable"
    assert "test accuracy 50 %" in lost.text
    assert lost.numbers["gamma"] == pytest.approx(0.3)
    assert decoupling(make(nets=(replayed(margin=0.0),))).verdict == "not applicable"


def test_gamma_of_several_heads_is_for_their_mean(make, replayed):
    checked = decoupling(make(nets=(replayed(heads=2),)))
    assert checked.numbers["gamma"] == pytest.approx(0.15)
    assert "for the mean of 2 heads" in checked.text


# ── B_γ and N ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_conditions_in_order(make):
    checked = conditions(make())
    assert checked.verdict == "holds"
    assert not checked.empty
    times = {name: checked.numbers[name] for name in ("t_structure", "t_pairs", "t_norm", "t_grok", "r_min", "r_max")}
    assert times == {"t_structure": 500, "t_pairs": 1000, "t_norm": 600, "t_grok": 600, "r_min": 10.0, "r_max": 10.0}
    assert "Order: B_γ, N, t_grok." in checked.text


def test_conditions_are_violated_when_attention_comes_late(make):
    late = conditions(make(mass_worst=lambda e: np.where(e >= 700, 0.45, 0.05)))
    assert (late.verdict, late.numbers["t_structure"]) == ("violated", 700)
    lost = conditions(make(mass_worst=lambda e: np.where(e == 1000, 0.05, 0.45)))
    assert (lost.verdict, lost.numbers["t_structure"]) == ("violated", None)


def test_a_condition_that_never_failed_is_empty(make):
    checked = conditions(make(mass_worst=0.45))
    assert checked.outcome == "holds, empty"
    assert checked.numbers["t_structure"] == 0


def test_conditions_need_grokking_and_gamma(make, replayed):
    never = conditions(make(**NEVER))
    assert never.verdict == "not applicable"
    assert "with γ = 0.3 of the last net B_γ since 500, pair condition since 1000" in never.text
    assert conditions(make(nets=(replayed(margin=0.0),))).verdict == "not applicable"


# ── Cor. 4.5 ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_corollary(make, replayed):
    checked = corollary(make())
    assert checked.numbers["delta_nec"] == pytest.approx(math.log(1 / 0.6))
    assert checked.outcome == "holds"
    assert corollary(make(D=lambda e: np.where(e == 800, 0.52, 0.1))).verdict == "violated"
    assert corollary(make(D=lambda e: np.where(e == 500, 0.52, 0.1))).verdict == "holds"
    assert corollary(make(nets=(replayed(divergence_worst=0.52),))).verdict == "violated"
    assert corollary(make(nets=(replayed(margin=1.0),))).outcome == "holds, empty"
    assert corollary(make(**NEVER)).verdict == "not applicable"
    assert corollary(make(nets=())).verdict == "not applicable"


# ── Lemma 5.1 ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_starvation(make, config):
    checked = starvation(make(bound_ratio=lambda e: np.where(e == 40, 0.9, 0.1)))
    assert checked.verdict == "holds"
    assert checked.numbers["ratio_worst"] == pytest.approx(0.9)
    assert checked.numbers["ratio_median"] == pytest.approx(0.1)
    assert checked.numbers["epoch_worst"] == 40
    assert checked.numbers["ratio_closed_worst"] == pytest.approx(0.01)
    assert starvation(make(bound_ratio=lambda e: np.where(e == 40, 1.01, 0.1))).verdict == "violated"
    assert starvation(make(bound_ratio=lambda e: np.where(e == 40, 1.00001, 0.1))).verdict == "holds"
    coarse = replace(config, precision="tf32")
    assert starvation(make(coarse, bound_ratio=1.001)).verdict == "holds"
    frozen = replace(config, constraint=Constraints(attention="uniform"))
    assert starvation(make(frozen)).verdict == "not applicable"


# ── Eq. 5 and the phases ─────────────────────────────────────────────────────────────────────────────────────────


def test_plateau_against_the_claim(make):
    """From 20 to 10 at λ = 0.01: at least 200 log 2 = 139 steps, and decay alone takes 69."""
    checked = plateau(make())
    assert checked.numbers["least"] == pytest.approx(200 * math.log(2))
    assert checked.numbers["free_decay"] == pytest.approx(math.log(2) / -math.log(0.99))
    assert checked.numbers["plateau"] == make().phases.t_c - 100
    assert checked.verdict == "holds"
    assert checked.numbers["ended_by"] == "t_c"


def test_plateau_shorter_than_claimed(make):
    """From e⁴ · 10 at λ = 0.01 it would take 800 steps."""
    checked = plateau(make(mlp_norm=lambda e: np.where(e >= 600, 10.0, 10 * math.exp(4))))
    assert checked.numbers["least"] == pytest.approx(800)
    assert checked.verdict == "violated"


def test_plateau_is_empty_when_the_norm_was_small_already(make):
    assert plateau(make(mlp_norm=9.0)).outcome == "holds, empty"


def test_plateau_counts_steps_and_the_rate_of_its_own_epochs(make, config):
    batches = replace(config, batch_size=7)
    assert batches.steps_per_epoch == 4
    assert plateau(make(batches)).numbers["plateau"] == 4 * plateau(make()).numbers["plateau"]
    cosine = replace(config, optim=AdamW(lr=1e-2, warmup=0.0, schedule="cosine"))
    assert 0.005 < plateau(make(cosine)).numbers["decay"] < 0.01


@pytest.mark.parametrize(
    ("change", "columns", "why"),
    [
        ({}, NEVER, "not grokked"),
        ({}, {"grad_M": 1.0}, "Plateau: none"),
        ({"optim": AdamW(weight_decay=0.0)}, {}, "no weight decay"),
        ({"constraint": Constraints(norm=5.0)}, {}, "norm matching"),
        ({"constraint": Constraints(attention="oracle")}, {}, "frozen"),
    ],
)
def test_plateau_does_not_apply(make, config, change, columns, why):
    checked = plateau(make(replace(config, **change), **columns))
    assert checked.verdict == "not applicable"
    assert why in checked.text


def test_phases(make, config, with_prior):
    assert phases(make()).verdict == "holds"
    flat = phases(make(train_loss=1e-3))
    assert flat.verdict == "violated"
    assert flat.numbers["loss_bump"] == pytest.approx(1)
    quiet = phases(make(grad_M=lambda e: np.where(e < 100, 1.0, 0.01)))
    assert (quiet.verdict, quiet.numbers["t_c"]) == ("violated", None)
    assert phases(make(grad_M=1.0)).verdict == "violated"
    assert phases(make(**NEVER)).verdict == "not applicable"
    assert phases(make(train_accuracy=0.5)).verdict == "not applicable"
    told = phases(make(with_prior()))
    assert told.verdict == "not applicable"
    assert "Thm 5.2" in told.text
    assert "Thm 5.2" not in phases(make(with_prior(target="adversarial"))).text
    assert "Thm 5.2" not in phases(make(replace(config, optim=AdamW(weight_decay=0.0)))).text


# ── all of them ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_audit_is_plain_json(make, with_prior):
    for run in (make(), make(with_prior()), make(nets=()), make(**NEVER)):
        plain = json.loads(json.dumps(check(run).to_dict(), allow_nan=False))
        assert plain["run"] == "hand-made"
        assert len(plain["statements"]) == 9
        assert {frozenset(s) for s in plain["statements"]} == {
            frozenset({"number", "name", "verdict", "numbers", "text"})
        }
        assert {s["verdict"] for s in plain["statements"]} <= {"holds", "violated", "not applicable"}


def test_more_than_one_layer_is_refused_with_a_reason(make, config):
    deep = replace(config, model=Transformer(d=8, d_mlp=16, layers=2, scope="causal"))
    columns = {f"norm_{name}": 3.0 for name in deep.model.parameters(deep.task.shape)}
    verdicts = {s.number: s.verdict for s in check(make(deep, nets=(), **columns)).statements}
    assert verdicts["Thm 4.3"] == verdicts["Cor. 4.5"] == "not applicable"
    assert verdicts["Lemma 5.1"] == "holds"


def test_evaluations_after_divergence_are_left_out(make):
    broken = make(D=lambda e: np.where(e > 500, math.nan, 0.5), mlp_norm=lambda e: np.where(e > 800, math.inf, 1.0))
    table = broken.metrics.assign(seconds_per_step=math.nan)
    assert finite_rows(table)["epoch"].tolist() == list(range(0, 501, 10))


def test_numbers_in_words():
    assert [fmt(v) for v in (None, 0.01234, 12.0, 12345.0, 5e15)] == ["none", "0.0123", "12", "12,345", "5e+15"]
    assert [percent(v) for v in (1.0, 0.9996, 0.5)] == ["100 %", "99.9 %", "50 %"]
