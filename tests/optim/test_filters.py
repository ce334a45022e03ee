"""Gradient filters: by hand, beside a direct loop, and side by side in lanes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.func import vmap
from torch.testing import assert_close

from grokscope.optim import Filter, filters
from grokscope.optim.filters import GrokfastEMA, GrokfastMA, OrthoGrad

Draw = Callable[..., Tensor]


def filtered(filter: Filter, weight: Tensor, grads: Tensor) -> Tensor:
    """What the optimizer would be given at each step."""
    state, out = filter.init(weight), []
    for step, grad in enumerate(grads, 1):
        grad, state = filter.apply(weight, grad, state, torch.tensor(step))
        out.append(grad)
    return torch.stack(out)


def ortho(weight: Tensor, grad: Tensor) -> Tensor:
    return OrthoGrad().apply(weight, grad, {}, torch.tensor(1))[0]


def test_none_is_the_gradient_itself(weight: Tensor, grads: Tensor) -> None:
    assert torch.equal(filtered(filters.get("none")(), weight, grads), grads)


def test_grokfast_ema_by_hand() -> None:
    # means: 4; 0.5·4 + 0.5·0 = 2; 0.5·2 + 0.5·6 = 4. Each gradient gains 3 of them.
    got = filtered(GrokfastEMA(alpha=0.5, lamb=3.0), torch.zeros(1), torch.tensor([[4.0], [0.0], [6.0]]))
    assert_close(got, torch.tensor([[16.0], [6.0], [18.0]]))


def test_grokfast_ma_by_hand() -> None:
    # window of 2: silent at first, then means 2, 3 and 7 of (4, 0), (0, 6), (6, 8), tenfold.
    got = filtered(GrokfastMA(window=2, lamb=10.0), torch.zeros(1), torch.tensor([[4.0], [0.0], [6.0], [8.0]]))
    assert_close(got, torch.tensor([[4.0], [20.0], [36.0], [78.0]]))


def test_grokfast_ma_of_one_scales_the_gradient(weight: Tensor, grads: Tensor) -> None:
    assert_close(filtered(GrokfastMA(window=1, lamb=2.0), weight, grads), 3 * grads)


def test_grokfast_ema_is_the_direct_loop(weight: Tensor, grads: Tensor) -> None:
    mean, direct = grads[0], []
    for grad in grads:
        mean = mean * 0.9 + grad * (1 - 0.9)
        direct.append(grad + mean * 1.5)
    assert_close(filtered(GrokfastEMA(alpha=0.9, lamb=1.5), weight, grads), torch.stack(direct))


@pytest.mark.parametrize("window", [3, 7, 20, 21])
def test_grokfast_ma_is_the_direct_loop(weight: Tensor, grads: Tensor, window: int) -> None:
    kept: deque[Tensor] = deque(maxlen=window)
    direct = []
    for grad in grads:
        kept.append(grad)
        full = len(kept) == window
        direct.append(grad + sum(kept, torch.zeros_like(grad)) / window * 5.0 if full else grad)
    assert_close(filtered(GrokfastMA(window=window, lamb=5.0), weight, grads), torch.stack(direct))


def test_orthograd_by_hand() -> None:
    # Along (1, 0) nothing is left; the rest (0, 4) is stretched to the norm 5 of (3, 4).
    assert_close(ortho(torch.tensor([2.0, 0.0]), torch.tensor([3.0, 4.0])), torch.tensor([0.0, 5.0]))


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(1, 5), size=st.floats(1e-6, 1e6))
def test_orthograd_is_orthogonal_and_keeps_the_norm(seed: int, rows: int, size: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    weight, grad = torch.randn(2, rows, 3, generator=generator, dtype=torch.float64)
    grad = size * grad
    got = ortho(weight, grad)
    assert abs((got * weight).sum()) <= 1e-9 * got.norm() * weight.norm()
    assert_close(got.norm(), grad.norm(), rtol=1e-9, atol=0)
    assert (got * grad).sum() > 0


def test_orthograd_leaves_the_gradient_of_zero_weights_alone() -> None:
    grad = torch.tensor([1.0, -2.0])
    assert_close(ortho(torch.zeros(2), grad), grad)


def test_orthograd_does_not_blow_rounding_up(draw: Draw) -> None:
    weight = draw(50, seed=4).float()
    assert torch.equal(ortho(weight, 0.3 * weight), torch.zeros(50))


OWN = {"alpha": (0.5, 0.99), "lamb": (1.0, 5.0)}


def filtered_lanes(filter: Filter, own: dict[str, Tensor], weight: Tensor, grads: Tensor) -> Tensor:
    def one(settings: Any, weight: Tensor, grad: Tensor, state: Any, step: Tensor) -> Any:
        return replace(filter, **settings).apply(weight, grad, state, step)

    lanes = weight.shape[0]
    state = {name: tensor.expand(lanes, *tensor.shape) for name, tensor in filter.init(weight[0]).items()}
    own_dims = dict.fromkeys(own, 0)
    out = []
    for step, grad in enumerate(grads, 1):
        grad, state = vmap(one, in_dims=(own_dims, 0, 0, 0, 0))(own, weight, grad, state, torch.full((lanes,), step))
        out.append(grad)
    return torch.stack(out)


@pytest.mark.parametrize("name", sorted(filters.entries()))
def test_lanes_are_their_runs_alone_and_a_diverged_one_hurts_no_other(draw: Draw, name: str) -> None:
    kind = filters.get(name)
    base = kind(window=4) if name == "grokfast-ma" else kind()  # type: ignore[call-arg]
    own = {field: torch.tensor(OWN[field], dtype=torch.float64) for field in kind.LANES}
    weight, grads = draw(2, 3, 2, seed=5), draw(9, 2, 3, 2, seed=6)
    together = filtered_lanes(base, own, weight, grads)
    for i in range(2):
        alone = filtered(replace(base, **{field: OWN[field][i] for field in kind.LANES}), weight[i], grads[:, i])
        assert_close(together[:, i], alone, rtol=1e-12, atol=1e-14)
    grads[5, 1, 0, 0] = float("nan")
    disturbed = filtered_lanes(base, own, weight, grads)
    assert torch.equal(disturbed[:, 0], together[:, 0])
    assert disturbed[5, 1, 0, 0].isnan()


@pytest.mark.parametrize("name", sorted(filters.entries()))
def test_only_elementwise_filters_may_see_one_vector(weight: Tensor, grads: Tensor, name: str) -> None:
    """Two tensors laid one after another are filtered as they are apart exactly where the filter says so."""
    kind = filters.get(name)
    other = weight.flip(0) + 1
    both = torch.cat([weight, other]).flatten(), torch.cat([grads, 2 * grads.flip(1)], 1).flatten(1)
    apart = torch.cat([filtered(kind(), weight, grads), filtered(kind(), other, 2 * grads.flip(1))], 1).flatten(1)
    assert torch.allclose(filtered(kind(), *both), apart) == kind.elementwise
