"""Every optimizer side by side with others: own settings, own step, and no harm from a neighbour."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from grokscope.optim import optimizers

Path = Callable[..., Tensor]

OWN = {
    "lr": (0.01, 0.2),
    "weight_decay": (0.0, 1.0),
    "warmup": (0.0, 10.0),
    "clip": (0.0, 1.0),
    "momentum": (0.0, 0.9),
    "beta1": (0.0, 0.9),
    "beta2": (0.5, 0.999),
    "eps": (1e-8, 1e-3),
    "adam_lr": (0.3, 0.02),
}
FIRST = torch.tensor([1, 8])  # the second lane is further on, as beside a run that took a retired one's place

every_optimizer = pytest.mark.parametrize("name", sorted(optimizers.entries()))
every_role = pytest.mark.parametrize("role", ["matrix", "embedding", "bias"])


@pytest.fixture
def lanes(draw: Path) -> tuple[Tensor, Tensor]:
    """Weights [lane row column] and gradients [step lane row column]."""
    return draw(2, 5, 3, seed=1), draw(12, 2, 5, 3, seed=2)


def own_settings(name: str) -> dict[str, Tensor]:
    return {field: torch.tensor(OWN[field], dtype=torch.float64) for field in optimizers.get(name).LANES}


@every_optimizer
@every_role
@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_a_lane_equals_its_run_alone(
    follow_lanes: Path, lanes: tuple[Tensor, Tensor], name: str, role: str, schedule: str
) -> None:
    optim, own = optimizers.get(name)(schedule=schedule), own_settings(name)  # type: ignore[arg-type]
    weight, grads = lanes
    together = follow_lanes(optim, own, weight, grads, FIRST, role)
    for i in range(2):
        just = slice(i, i + 1)
        alone = follow_lanes(
            optim, {k: v[just] for k, v in own.items()}, weight[just], grads[:, just], FIRST[just], role
        )
        assert_close(together[:, just], alone, rtol=1e-12, atol=1e-14)


@every_optimizer
def test_numbers_and_scalar_tensors_give_the_same_run(
    follow: Path, follow_lanes: Path, weight: Tensor, grads: Tensor, name: str
) -> None:
    kind = optimizers.get(name)
    numbers = {field: OWN[field][1] for field in kind.LANES} | {"warmup": 0.0}
    tensors = {field: torch.tensor([value], dtype=torch.float64) for field, value in numbers.items()}
    alone = follow(kind(**numbers), weight, grads)  # type: ignore[arg-type]
    lane = follow_lanes(kind(), tensors, weight[None], grads[:, None], torch.tensor([1]), "matrix")
    assert_close(lane[:, 0], alone, rtol=1e-12, atol=1e-14)


@every_optimizer
@every_role
def test_a_diverged_lane_is_seen_and_hurts_no_other(
    follow_lanes: Path, lanes: tuple[Tensor, Tensor], name: str, role: str
) -> None:
    optim, own = optimizers.get(name)(), own_settings(name)
    weight, grads = lanes
    undisturbed = follow_lanes(optim, own, weight, grads, FIRST, role)
    grads[4, 1, 2, 1] = float("nan")
    disturbed = follow_lanes(optim, own, weight, grads, FIRST, role)
    assert torch.equal(disturbed[:, 0], undisturbed[:, 0])
    assert disturbed[4:, 1, 2, 1].isnan().all()


@every_optimizer
def test_only_elementwise_optimizers_may_see_one_vector(follow: Path, weight: Tensor, grads: Tensor, name: str) -> None:
    """A row at a time gives the same as the whole exactly where the optimizer says so."""
    optim = optimizers.get(name)()
    by_rows = torch.cat([follow(optim, weight[i : i + 1], grads[:, i : i + 1]) for i in range(len(weight))], 1)
    assert torch.allclose(follow(optim, weight, grads), by_rows, rtol=1e-12) == optim.elementwise
