"""Polynomial regression: the target by hand, and the distribution of its inputs."""

from __future__ import annotations

import pytest
import torch

from grokscope.scores import shown_score
from grokscope.tasks import score_name, tasks
from grokscope.tasks.polynomial import Polynomial, target


def test_target_by_hand() -> None:
    """β·x = 1 − 4 = −3, and 9/2; β·x = 2, and 2."""
    y = target(torch.tensor([[1.0, 2.0], [0.0, -1.0]]), torch.tensor([1.0, -2.0]))
    assert y.tolist() == [4.5, 2.0]


def test_answers_depend_on_one_direction() -> None:
    """From the training examples alone, least squares on all products x_i x_j finds a matrix ββᵀ/2 of rank one."""
    split = Polynomial(dimension=4, train_size=40, test_size=20).split(0)
    x, y = split.train.inputs.double(), split.train.labels.double()
    products = torch.einsum("ni,nj->nij", x, x).flatten(1)
    found = torch.linalg.lstsq(products, y, driver="gelsd").solution.view(4, 4)
    values = torch.linalg.eigvalsh(found + found.T).abs().sort().values
    assert values[-1] > 1e4 * values[-2]
    answers = torch.einsum("ni,ij,nj->n", split.test.inputs.double(), found, split.test.inputs.double())
    torch.testing.assert_close(answers, split.test.labels.double(), rtol=1e-4, atol=1e-5)


def test_inputs_have_length_one_on_average() -> None:
    train = Polynomial(dimension=50, train_size=2000).split(0).train
    assert train.inputs.square().sum(1).mean().item() == pytest.approx(1, rel=0.03)
    assert train.inputs.mean().item() == pytest.approx(0, abs=0.003)


def test_its_accuracy_is_called_r_squared() -> None:
    """From nested settings, and from flat ones as in a table of results; a squared error on classes is no regression."""
    assert score_name({"loss": "mse", "task": {"kind": "polynomial"}}) == "R²"
    assert score_name({"loss": "mse", "task.kind": "polynomial"}) == "R²"
    assert score_name({"loss": "mse", "task": {"kind": "modular"}}) == "accuracy"
    assert score_name({"loss": "mse", "task": {"kind": "from a file that is not loaded"}}) == "accuracy"
    assert score_name({}) == "accuracy"
    for name, task in tasks.entries().items():
        assert (score_name({"loss": "mse", "task.kind": name}) == "R²") is task().shape.regression


def test_how_scores_are_written() -> None:
    assert shown_score(0.5, "accuracy") == "50.0 %"
    assert shown_score(0.5, "R²") == "0.500"
    assert shown_score(0.5, "R²", mixed=True) == "R² = 0.500"
    assert shown_score(None, "R²") == shown_score(float("nan"), "accuracy") == "–"
