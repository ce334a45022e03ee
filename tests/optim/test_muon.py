"""Muon: torch's own arithmetic without its rounding to bfloat16, matrices one at a time, grouping by role."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.func import vmap
from torch.testing import assert_close

from grokscope.optim.adamw import AdamW
from grokscope.optim.muon import Muon, newton_schulz
from grokscope.randomness import Key

KEY = Key(torch.tensor(0), torch.tensor(0))

Path = Callable[..., Tensor]


@pytest.mark.parametrize("adjust_lr", ["original", "match_rms_adamw"])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_a_matrix_moves_as_in_torch_on_its_transpose(
    monkeypatch: pytest.MonkeyPatch,
    draw: Path,
    follow: Path,
    follow_torch: Path,
    shape: tuple[int, int],
    adjust_lr: str,
) -> None:
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)  # torch then orthogonalises in float64
    weight, grads = draw(*shape, seed=1), draw(20, *shape, seed=2)
    ours = follow(Muon(lr=0.02, weight_decay=0.5, momentum=0.9, adjust_lr=adjust_lr), weight, grads)  # type: ignore[arg-type]
    theirs = follow_torch(
        torch.optim.Muon, weight.mT, grads.mT, lr=0.02, weight_decay=0.5, momentum=0.9, adjust_lr_fn=adjust_lr
    )
    assert_close(ours, theirs.mT, rtol=1e-10, atol=1e-12)


def test_a_matrix_moves_as_in_torch_up_to_bfloat16(
    weight: Tensor, grads: Tensor, follow: Path, follow_torch: Path
) -> None:
    weight, grads = weight.float(), grads.float()
    ours = follow(Muon(lr=0.02, weight_decay=0.0), weight, grads[:1])[0] - weight
    theirs = follow_torch(torch.optim.Muon, weight.mT, grads[:1].mT, lr=0.02, weight_decay=0.0)[0].mT - weight
    assert (ours - theirs).norm() < 0.03 * theirs.norm()


@pytest.mark.parametrize("role", ["embedding", "bias"])
def test_the_rest_moves_by_adamw_with_its_own_rate(follow: Path, weight: Tensor, grads: Tensor, role: str) -> None:
    ours = follow(Muon(lr=0.5, adam_lr=0.01, beta2=0.98, weight_decay=0.3), weight, grads, role)
    theirs = follow(AdamW(lr=0.01, beta2=0.98, weight_decay=0.3), weight, grads, role)
    assert_close(ours, theirs, rtol=1e-12, atol=1e-14)


def test_adam_lr_follows_the_schedule(weight: Tensor, grads: Tensor) -> None:
    muon, adamw = Muon(lr=0.5, adam_lr=0.01, schedule="cosine"), AdamW(lr=0.01, schedule="cosine")
    now = torch.tensor(3), torch.tensor(40)
    after = [
        optim.update(
            weight,
            grads[0],
            optim.init(weight, "bias"),
            role="bias",
            step=torch.tensor(1),
            lr=optim.rate(*now),
            key=KEY,
        )
        for optim in (muon, adamw)
    ]
    assert_close(after[0][0], after[1][0], rtol=1e-6, atol=1e-9)


def test_stacked_biases_are_not_a_matrix(draw: Path) -> None:
    """Biases of several runs have two axes, as a matrix has; each run must move as it does alone."""
    optim, weight, grad = Muon(), draw(3, 6, seed=1), draw(3, 6, seed=2)

    def one(weight: Tensor, grad: Tensor) -> Tensor:
        state = optim.init(weight, "bias")
        return optim.update(weight, grad, state, role="bias", step=torch.tensor(1), lr=torch.tensor(0.1), key=KEY)[0]

    assert set(optim.init(weight, "bias")) == {"mean", "square"}
    assert set(optim.init(weight, "matrix")) == {"momentum"}
    assert_close(vmap(one)(weight, grad), torch.stack([one(w, g) for w, g in zip(weight, grad, strict=True)]))


@pytest.mark.parametrize("axes", [(4,), (2, 2)])
def test_stacked_matrices_do_not_mix(draw: Path, follow: Path, axes: tuple[int, ...]) -> None:
    weight, grads, optim = draw(4, 6, 3, seed=1), draw(5, 4, 6, 3, seed=2), Muon(lr=0.1)

    def stacked(grads: Tensor) -> Tensor:
        return follow(optim, weight.reshape(*axes, 6, 3), grads.reshape(5, *axes, 6, 3)).reshape(grads.shape)

    before = stacked(grads)
    for i in range(4):
        assert_close(before[:, i], follow(optim, weight[i], grads[:, i]), rtol=1e-12, atol=1e-14)
    grads[:, 1] *= -3
    assert [torch.equal(stacked(grads)[:, i], before[:, i]) for i in range(4)] == [True, False, True, True]


@pytest.mark.parametrize("shape", [(8, 8), (3, 7, 20), (40, 6)])
@pytest.mark.parametrize("size", [1e-3, 1e4])
def test_newton_schulz_brings_singular_values_near_one(draw: Path, shape: tuple[int, ...], size: float) -> None:
    matrix = draw(*shape, seed=3)
    orthogonal = newton_schulz(size * matrix)
    values = torch.linalg.svdvals(orthogonal)
    assert orthogonal.shape == matrix.shape
    assert values.min() > 0.6 and values.max() < 1.3
    # The singular directions stay: Uᵀ NS(UΣVᵀ) V is diagonal.
    u, _, vt = torch.linalg.svd(matrix, full_matrices=False)
    core = u.mT @ orthogonal @ vt.mT
    assert_close(core, torch.diag_embed(core.diagonal(dim1=-2, dim2=-1)), rtol=0, atol=1e-10)


def test_newton_schulz_of_nothing_is_nothing() -> None:
    assert_close(newton_schulz(torch.zeros(3, 4)), torch.zeros(3, 4))
