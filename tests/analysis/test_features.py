"""Likeness and dimension of features, by hand and on features whose answer is known."""

import numpy as np
import pytest

from grokscope.analysis.features import effective_rank, linear_cka, participation_ratio, pca_dimension, variances

GENERATOR = np.random.default_rng(0)


def rotation(width):
    return np.linalg.qr(GENERATOR.normal(size=(width, width)))[0]


def test_cka_of_features_with_themselves_turned_scaled_and_shifted_is_one():
    x = GENERATOR.normal(size=(50, 6)) @ np.diag([5, 3, 1, 1, 0.2, 0.1])
    assert linear_cka(x, x) == pytest.approx(1)
    assert linear_cka(x, 3.7 * x @ rotation(6) + 11) == pytest.approx(1)
    assert linear_cka(x, x @ np.diag([0.1, 1, 1, 5, 5, 5])) < 0.9


def test_cka_by_hand():
    """x = (1, −1, 0, 0), y = (1, −1, 1, −1): ⟨x, y⟩² / (‖x‖² ‖y‖²) = 4 / (2 · 4)."""
    x, y = np.array([[1.0], [-1], [0], [0]]), np.array([[1.0], [-1], [1], [-1]])
    assert linear_cka(x, y) == pytest.approx(0.5)
    assert linear_cka(x, np.array([[1.0], [1], [-1], [-1]])) == pytest.approx(0)
    assert np.isnan(linear_cka(x, np.ones((4, 2))))


def test_cka_equals_its_definition_by_gram_matrices():
    x, y = GENERATOR.normal(size=(20, 3)), GENERATOR.normal(size=(20, 5))
    centre = np.eye(20) - 1 / 20
    k, m = centre @ x @ x.T @ centre, centre @ y @ y.T @ centre
    assert linear_cka(x, y) == pytest.approx((k * m).sum() / np.sqrt((k * k).sum() * (m * m).sum()))


def test_cka_of_independent_features_is_small():
    assert linear_cka(*GENERATOR.normal(size=(2, 4000, 10))) < 0.01


def test_dimensions_of_white_noise_are_its_width():
    spectrum = variances(GENERATOR.normal(size=(20_000, 12)))
    assert participation_ratio(spectrum) == pytest.approx(12, rel=0.01)
    assert effective_rank(spectrum) == pytest.approx(12, rel=0.01)
    assert pca_dimension(spectrum) == 12


def test_dimensions_of_a_projector_are_its_rank():
    """Rows ±e_i for three of seven directions: a covariance that is a projector, by a third."""
    directions = rotation(7)[:3]
    spectrum = variances(np.concatenate([directions, -directions]) + 5)
    np.testing.assert_allclose(spectrum, [1 / 3] * 3 + [0] * 4, atol=1e-12)
    assert participation_ratio(spectrum) == pytest.approx(3)
    assert effective_rank(spectrum) == pytest.approx(3, rel=1e-5)
    assert pca_dimension(spectrum) == 3


def test_dimensions_by_hand():
    spectrum = np.array([9.0, 1.0, 0.0])
    assert participation_ratio(spectrum) == pytest.approx(100 / 82)
    assert effective_rank(spectrum) == pytest.approx(np.exp(-0.75 * np.log(0.75) - 0.25 * np.log(0.25)))
    assert [pca_dimension(spectrum, share) for share in (0.5, 0.9, 0.91, 1.0)] == [1, 1, 2, 2]


def test_dead_features_have_no_dimension():
    spectrum = variances(np.full((5, 3), 2.0))
    assert (participation_ratio(spectrum), effective_rank(spectrum), pca_dimension(spectrum)) == (0, 0, 0)
