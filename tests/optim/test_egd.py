"""Egalitarian gradient descent and Adam with L2, step by step beside a trusted implementation."""

import torch
from torch.testing import assert_close

from grokscope.optim.adam import Adam
from grokscope.optim.egd import EGD, polar_factor
from grokscope.optim.sgd import SGD
from grokscope.randomness import Key

LR = torch.tensor(0.1)


def matrix(rows, columns, singular):
    """A matrix with given singular values."""
    generator = torch.Generator().manual_seed(0)
    u, v = (torch.linalg.qr(torch.randn(n, n, generator=generator, dtype=torch.float64))[0] for n in (rows, columns))
    k = len(singular)
    return u[:, :k] @ torch.diag(torch.tensor(singular, dtype=torch.float64)) @ v[:, :k].T, u[:, :k] @ v[:, :k].T


def stepped(optim, weight, grad, role):
    state = optim.init(weight, role)
    key = Key(torch.tensor(0), torch.tensor(0))
    return optim.update(weight, grad, state, role=role, step=torch.tensor(1), lr=LR, key=key)[0]


def test_the_polar_factor_has_singular_values_of_one():
    for rows, columns in ((6, 9), (9, 6), (5, 5)):
        g, expected = matrix(rows, columns, [40.0, 3.0, 1.0, 0.2, 0.1])
        assert_close(polar_factor(g), expected, atol=2e-3, rtol=0)


def test_directions_that_are_rounding_stay_small():
    g, _ = matrix(6, 9, [1.0, 0.5, 1e-9])
    assert torch.linalg.svdvals(polar_factor(g))[2] < 1e-4


def test_matrices_move_alike_in_all_directions_and_the_rest_by_sgd():
    g, factor = matrix(6, 9, [4.0, 2.0, 1.0])
    weight = torch.zeros_like(g)
    assert_close(stepped(EGD(weight_decay=0.0), weight, g, "matrix"), -0.1 * factor, atol=1e-3, rtol=0)
    assert_close(stepped(EGD(weight_decay=0.3), g, g, "embedding"), stepped(SGD(weight_decay=0.3), g, g, "embedding"))


def test_the_decay_is_part_of_the_gradient_that_is_levelled():
    g, factor = matrix(6, 9, [4.0, 2.0, 1.0])
    moved = stepped(EGD(weight_decay=1.0), 3 * g, torch.zeros_like(g), "matrix")
    assert_close(moved, 3 * g - 0.1 * factor, atol=1e-3, rtol=0)


def test_adam_is_that_of_torch(follow, follow_torch, weight, grads):
    ours = Adam(lr=0.03, weight_decay=0.7, beta2=0.98, eps=1e-6)
    theirs = {"lr": 0.03, "weight_decay": 0.7, "betas": (0.9, 0.98), "eps": 1e-6, "foreach": False, "fused": False}
    assert_close(
        follow(ours, weight, grads), follow_torch(torch.optim.Adam, weight, grads, **theirs), rtol=1e-12, atol=1e-14
    )
