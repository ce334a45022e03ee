"""A sum over blocks: the same number and gradients as in one piece, with the same bits for any number of threads."""

import pytest
import torch

from grokscope.ops.blockwise import sum_over_blocks
from grokscope.ops.team import team_of
from grokscope.randomness import stream


def drawn(*shape, name="x", dtype=torch.double):
    return torch.randn(shape, generator=stream(0, name), dtype=dtype)


def squares(weights, block):
    return torch.tanh(block @ weights["W"]).square().sum()


def test_it_is_the_sum_with_its_gradient():
    x, W = drawn(40, 5), drawn(5, 3, name="W").requires_grad_()
    unused = torch.ones(2, dtype=torch.double, requires_grad=True)
    whole = squares({"W": W}, x)
    total = sum_over_blocks(squares, {"W": W, "unused": unused}, x.split([7, 20, 13]))
    torch.testing.assert_close(total, whole)
    found, none = torch.autograd.grad(3 * total, [W, unused])
    torch.testing.assert_close(found, torch.autograd.grad(3 * whole, W)[0])
    assert not none.any()


def test_bits_do_not_depend_on_threads():
    x, W = drawn(400, 50, dtype=torch.float32), drawn(50, 30, name="W", dtype=torch.float32).requires_grad_()
    found = []
    for threads in (1, 2, 3):
        with team_of(threads) as team, team.member():
            total = sum_over_blocks(squares, {"W": W}, x.split(37))
            found.append((total.detach(), torch.autograd.grad(total, W)[0]))
    for total, gradient in found[1:]:
        assert torch.equal(total, found[0][0])
        assert torch.equal(gradient, found[0][1])


def test_a_second_derivative_is_refused():
    x, W = drawn(6, 5), drawn(5, 3, name="W").requires_grad_()
    total = sum_over_blocks(squares, {"W": W}, x.split(3))
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(total, W, create_graph=True)
