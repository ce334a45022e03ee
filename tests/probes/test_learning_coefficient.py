"""The local learning coefficient against closed forms, and probes of gradients."""

import numpy as np
import pytest
import torch

from grokscope.probes.forecast import class_distance
from grokscope.probes.learning_coefficient import calibrate, local_learning_coefficient

EXAMPLES = 1000


def estimate(loss, size, **how):
    generator = torch.Generator().manual_seed(0)
    return local_learning_coefficient(loss, {"w": torch.zeros(size)}, EXAMPLES, generator, **how)


@pytest.mark.parametrize("size", [2, 10])
def test_half_the_dimensions_of_a_quadratic_loss(size):
    found = estimate(
        lambda w: 0.5 * w["w"].square().sum(), size, chains=32, steps=1500, step_size=5e-4, localisation=1.0
    )
    assert found.mean == pytest.approx(size / 2, rel=0.15)
    assert found.settled


@pytest.mark.parametrize("power", [1, 2, 3])
def test_one_over_2k_of_a_single_weight_to_the_2k(power):
    found = estimate(
        lambda w: (w["w"] ** (2 * power)).sum(), 1, chains=256, steps=2000, step_size=1e-3, localisation=0.0
    )
    assert found.mean == pytest.approx(1 / (2 * power), rel=0.2)


def test_a_flat_direction_does_not_count():
    found = estimate(lambda w: 0.5 * w["w"][:3].square().sum(), 6, chains=32, steps=1500, step_size=5e-4)
    assert found.mean == pytest.approx(1.5 * 145 / (145 + 100), rel=0.25)  # γ = 100 holds each direction back


def test_calibration_shows_where_the_estimate_is_stable():
    found = calibrate(
        lambda w: 0.5 * w["w"].square().sum(),
        {"w": torch.zeros(4)},
        EXAMPLES,
        seed=0,
        step_sizes=(1e-5, 5e-4, 1e-3, 1.0),
        localisations=(1.0,),
        chains=32,
        steps=1500,
    )
    stable = {epsilon: own.mean for epsilon, _, own in found if own.settled}
    assert {5e-4, 1e-3} <= set(stable) and 1.0 not in stable
    assert stable[5e-4] == pytest.approx(2.0, rel=0.15)


def test_chains_that_diverge_are_not_settled():
    found = estimate(lambda w: 0.5 * w["w"].square().sum(), 2, steps=50, step_size=1.0)
    assert not found.settled


def test_classes_far_apart_have_a_large_distance():
    draw = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 20)
    near = draw.normal(size=(60, 4))
    assert class_distance(near + 10 * labels[:, None], labels) > class_distance(near, labels) + 3
