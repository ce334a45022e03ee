"""The local learning coefficient against closed forms, and probes of gradients."""

import math

import numpy as np
import pytest
import torch

from grokscope.probes.forecast import class_distance
from grokscope.probes.learning_coefficient import Coefficient, calibrate, local_learning_coefficient

EXAMPLES = 1000
INVERSE = EXAMPLES / math.log(EXAMPLES)


def quadratic(w, rows):
    return 0.5 * w["w"].square().sum()


def estimate(loss, size, **how):
    generator = torch.Generator().manual_seed(0)
    return local_learning_coefficient(loss, {"w": torch.zeros(size)}, EXAMPLES, generator, **how)


@pytest.mark.parametrize("size", [2, 10])
def test_half_the_dimensions_of_a_quadratic_loss(size):
    found = estimate(quadratic, size, chains=64, steps=1500, step_size=5e-4, localisation=1.0)
    assert found.mean == pytest.approx(size / 2, rel=0.15)
    assert found.settled


@pytest.mark.parametrize("power", [1, 2, 3])
def test_one_over_2k_of_a_single_weight_to_the_2k(power):
    found = estimate(
        lambda w, rows: (w["w"] ** (2 * power)).sum(), 1, chains=256, steps=2000, step_size=1e-3, localisation=0.0
    )
    assert found.mean == pytest.approx(1 / (2 * power), rel=0.2)


def test_a_flat_direction_does_not_count():
    found = estimate(
        lambda w, rows: 0.5 * w["w"][:3].square().sum(), 6, chains=32, steps=1500, step_size=5e-4, localisation=100.0
    )
    assert found.mean == pytest.approx(1.5 * INVERSE / (INVERSE + 100), rel=0.25)  # γ = 100 holds each direction back


def test_gradients_of_batches_give_the_coefficient_of_all_examples():
    """Linear regression without noise: L = ½ mean (x·w)², so that λ = d/2 though each step sees ten of the examples."""
    inputs = torch.randn(EXAMPLES, 6, generator=torch.Generator().manual_seed(1))
    how = {"chains": 64, "steps": 1500, "step_size": 5e-4, "localisation": 1.0}
    found = estimate(lambda w, rows: 0.5 * (inputs[rows] @ w["w"]).square().mean(), 6, batch=100, **how)
    assert found.mean == pytest.approx(3, rel=0.15) and found.settled


def test_chains_that_are_read_too_early_have_not_settled():
    """ε = 1e-5 takes 2/(ε nβ) = 1,380 steps to settle."""
    early = estimate(quadratic, 200, chains=4, steps=80, step_size=1e-5, localisation=1.0)
    assert early.drift > 0.25 and not early.settled and early.mean < 20
    late = estimate(quadratic, 200, chains=4, steps=80, step_size=1e-3, localisation=1.0)
    assert late.settled and late.mean == pytest.approx(100, rel=0.15)


def test_chains_that_diverge_disagree_or_fall_below_the_checkpoint_have_not_settled():
    assert not estimate(quadratic, 2, steps=50, step_size=1.0).settled
    assert not Coefficient(torch.tensor([10.0, 200.0]), 0.0).settled
    assert Coefficient(torch.tensor([10.0, 11.0]), 0.0).settled
    assert not Coefficient(torch.tensor([10.0, 11.0]), 0.2).settled
    hill = estimate(lambda w, rows: -0.5 * w["w"].square().sum(), 4, steps=200, step_size=1e-4, localisation=1000.0)
    assert hill.mean < 0 and not hill.settled


def test_calibration_shows_where_the_estimate_is_stable():
    found = calibrate(
        quadratic,
        {"w": torch.zeros(400)},
        EXAMPLES,
        seed=0,
        step_sizes=(1e-3, 1e-6, 2e-3, 1.0),
        localisations=(100.0, 1.0),
        chains=4,
        steps=400,
    )
    assert [(own.localisation, own.step_size) for own in found] == [
        (gamma, epsilon) for gamma in (1.0, 100.0) for epsilon in (1e-6, 1e-3, 2e-3, 1.0)
    ]
    by = {(own.localisation, own.step_size): own for own in found}
    assert [by[1.0, epsilon].found.settled for epsilon in (1e-6, 1e-3, 2e-3, 1.0)] == [False, True, True, False]
    assert {key for key, own in by.items() if own.small_enough} == {(1.0, 2e-3), (100.0, 2e-3)}
    assert by[1.0, 1e-3].found.mean == pytest.approx(200, rel=0.15)
    assert by[100.0, 1e-3].found.mean == pytest.approx(200 * INVERSE / (INVERSE + 100), rel=0.15)


def test_a_lane_of_a_calibration_equals_the_setting_alone():
    one, two = (
        calibrate(quadratic, {"w": torch.zeros(5)}, EXAMPLES, 3, step_sizes=sizes, localisations=(1.0,), steps=20)
        for sizes in ((1e-3,), (1e-4, 1e-3))
    )
    assert torch.equal(one[0].found.value, two[1].found.value)


def test_classes_far_apart_have_a_large_distance():
    draw = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 20)
    near = draw.normal(size=(60, 4))
    assert class_distance(near + 10 * labels[:, None], labels) > class_distance(near, labels) + 3
