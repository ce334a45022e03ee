"""Attention over short sequences by elements equals the batched products."""

import pytest
import torch

from grokscope.ops import short


class OnGPU(torch.Tensor):
    """Takes the branch of a GPU, on the CPU."""

    is_cuda = True


@pytest.mark.parametrize("positions", [1, 3, short.SHORT, short.SHORT + 1])
@pytest.mark.parametrize("queries", [1, 3])
def test_both_ways_give_the_same_values_and_gradients(positions, queries):
    q, k, v = (torch.randn(2, 4, n, 5, dtype=torch.float64) for n in (queries, positions, positions))
    alpha = torch.rand(2, 4, queries, positions, dtype=torch.float64)
    for rule, plain, tensors in (
        (short.scores, lambda a, b: a @ b.mT, (q, k)),
        (short.weighted_sum, lambda a, b: a @ b, (alpha, v)),
    ):
        leaves = [t.clone().requires_grad_() for t in tensors]
        wanted = plain(*leaves)
        push = torch.randn_like(wanted)
        wanted_grads = torch.autograd.grad(wanted, leaves, push)
        own = [t.clone().requires_grad_() for t in tensors]
        found = rule(*(t.as_subclass(OnGPU) for t in own))
        torch.testing.assert_close(found.as_subclass(torch.Tensor), wanted)
        for a, b in zip(torch.autograd.grad(found, own, push), wanted_grads, strict=True):
            torch.testing.assert_close(a.as_subclass(torch.Tensor), b)
