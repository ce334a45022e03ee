"""Def. 3.2: bounds compounded over an interval as step by step, and every optimizer that trains here keeps them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grokscope.config import Log
from grokscope.launch.local import train
from grokscope.models.base import Parameter
from grokscope.models.parts.attention.stg import StochasticGates
from grokscope.optim.adamw import AdamW
from grokscope.optim.lion import Lion
from grokscope.optim.muon import Muon
from grokscope.optim.sgd import SGD
from grokscope.papers.structural_inference.audit import audit
from grokscope.papers.structural_inference.audit.clock import elapsed, learning_rates, prior_speed
from grokscope.papers.structural_inference.audit.contraction import _compound, contraction
from grokscope.papers.structural_inference.audit.steps import obstacle, step_bound
from grokscope.priors.constraints import Constraints
from grokscope.priors.kl import KL

MATRIX = Parameter((4, 9), "matrix", 1.0, "mlp")
EMBEDDING = Parameter((4, 9), "embedding", 1.0, "embed")


def test_compounding_is_one_step_after_another():
    decay, growth = np.array([0.1, 0.2, 0.05]), np.array([1.0, 2.0, 3.0])
    value = 7.0
    for rate, more in zip(decay, growth, strict=True):
        value = (1 - rate) * value + more
    shrunk, grown = _compound(np.log1p(-decay), growth)
    assert (1 - shrunk) * 7.0 + grown == pytest.approx(value)


def test_step_bounds_by_hand():
    """4 × 9: √36 = 6 for Lion; AdamW with β₁ = 0 and β₂ = 0.75 at most 6 / √0.25; Muon √4 · 1.2024 · √(9/4)."""
    assert step_bound(Lion(), MATRIX) == pytest.approx(6)
    assert step_bound(AdamW(beta1=0.0, beta2=0.75), MATRIX) == pytest.approx(12)
    assert step_bound(Muon(), MATRIX) == pytest.approx(2 * 1.2024 * 1.5)
    assert step_bound(Muon(beta1=0.0, beta2=0.75), EMBEDDING) == pytest.approx(12)
    assert step_bound(SGD(clip=0.5), MATRIX) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("optim", "why"),
    [
        (SGD(momentum=0.9), "without momentum"),
        (SGD(clip=0.0), "without clipping"),
        (AdamW(beta1=0.9, beta2=0.8), "has no bound"),
        (AdamW(weight_decay=0.0), "not between 0 and 1"),
        (Lion(lr=2.0), "not between 0 and 1"),
    ],
)
def test_what_def_3_2_does_not_cover(make, config, optim, why):
    checked = contraction(make(replace(config, optim=optim)))
    assert checked.verdict == "not applicable"
    assert why in checked.text


def test_an_optimizer_of_ones_own_is_not_taken_for_adamw():
    class Mine(AdamW):
        pass

    assert "no step bound" in obstacle(Mine())


def test_contraction_holds_and_is_violated(make, config):
    """SGD clipped at 1, λ = 0.01, radius 1. In ten steps x becomes at most x q + 1 − q with q = 0.99^10."""
    sgd = replace(config, optim=SGD(lr=0.01, warmup=0.0))
    small = {f"norm_{name}": 0.9 for name in config.model.parameters(config.task.shape)} | {"mlp_norm": 0.9}
    kept = 0.99**10
    held = contraction(make(sgd, **small))
    assert held.outcome == "holds, empty"
    assert held.numbers["worst_ratio"] == pytest.approx(0.81 / (0.81 * kept + 1 - kept))
    grown = contraction(make(sgd, **small | {"norm_W_Q": lambda e: np.where(e >= 500, 6.0, 0.9)}))
    assert (grown.verdict, grown.numbers["worst_matrix"]) == ("violated", "W_Q")
    assert grown.numbers["worst_ratio"] == pytest.approx(36 / (0.81 * kept + 1 - kept))
    still = contraction(make(sgd, **small | {"norm_W_Q": 3.0}))  # above the radius it would have to shrink
    assert (still.verdict, still.empty) == ("violated", False)
    shrinking = contraction(make(sgd, **small | {"norm_W_Q": lambda e: 3 * 0.99**e}))
    assert shrinking.outcome == "holds"


def test_contraction_of_adamw_is_empty_at_these_sizes(make):
    checked = contraction(make())
    assert checked.outcome == "holds, empty"
    mlp = checked.numbers["matrices"]["MLP"]
    assert mlp["radius"] == pytest.approx(7.27 * np.sqrt(2 * 8 * 16), rel=1e-3)


def test_decay_on_the_plateau_is_measured_against_lambda(make):
    checked = contraction(make(mlp_norm=lambda e: 20 * np.exp(-0.0025 * e)))
    assert checked.numbers["decay_measured"] == pytest.approx(0.0025)
    assert checked.numbers["decay_ratio"] == pytest.approx(0.25)
    assert contraction(make(grad_M=1.0)).numbers["decay_measured"] is None


def test_norm_matching_leaves_the_mlp_out(make, config):
    matched = contraction(make(replace(config, constraint=Constraints(norm=5.0))))
    assert matched.verdict == "holds"
    assert set(matched.numbers["matrices"]).isdisjoint({"W_in", "W_out", "MLP"})


def test_clocks_know_warm_up_batches_and_schedules(config):
    warm = replace(config, optim=AdamW(lr=1.0, warmup=4.0), batch_size=14)
    assert warm.steps_per_epoch == 2
    assert learning_rates(warm, 3) == pytest.approx([1 / 8, 2 / 8, 3 / 8, 4 / 8, 5 / 8, 6 / 8])
    muon = replace(config, optim=Muon(lr=0.02, adam_lr=0.001, warmup=0.0))
    assert learning_rates(muon, 2) == pytest.approx([0.02, 0.02])
    assert learning_rates(muon, 2, "embedding") == pytest.approx([0.001, 0.001])
    late = replace(config, prior=KL(beta=2.0, schedule="late", span=3.0))
    assert prior_speed(late, 5) == pytest.approx([0, 0, 0, 0.02, 0.02])
    assert elapsed(prior_speed(late, 5), late, np.array([0.0, 3.0, 5.0])) == pytest.approx([0, 0, 0.04])


@pytest.mark.parametrize("optim", [SGD(lr=0.1), AdamW(lr=0.01), Muon(lr=0.02), Lion(lr=0.003)], ids=lambda o: o.kind)
@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_every_optimizer_contracts_on_a_real_run(tiny, tmp_path, optim, schedule):
    config = replace(tiny, optim=replace(optim, schedule=schedule), epochs=20, log=Log(every=1))
    (run,) = train(config, runs=tmp_path, device="cpu")
    checked = {s.number: s for s in audit(run).statements}["Def. 3.2"]
    assert checked.verdict == "holds"
    assert 0 < checked.numbers["worst_ratio"] <= 1


def test_parameters_with_a_rate_of_their_own_are_left_out(tiny, tmp_path):
    model = replace(tiny.model, attention=StochasticGates(rate=0.5))
    config = replace(tiny, model=model, optim=AdamW(lr=1e-4), log=Log(every=1))
    (run,) = train(config, runs=tmp_path, device="cpu")
    checked = {s.number: s for s in audit(run).statements}["Def. 3.2"]
    assert checked.verdict == "holds"
    assert "W_Q" in checked.numbers["matrices"] and "gate" not in checked.numbers["matrices"]
