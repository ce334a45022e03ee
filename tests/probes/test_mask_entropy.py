"""Masks that are periodic over the operands, random ones, and runs without masks."""

from dataclasses import dataclass, replace

import pytest
import torch

from grokscope.probes.mask_entropy import mask_entropy
from tests.probes.conftest import Made

P, D = 67, 200


@dataclass(frozen=True)
class Masked(Made):
    mask: object = None

    def network(self, epoch=None):
        return replace(super().network(epoch), mask=self.mask)


def table(made, **mask):
    stored = made(p=P)
    return mask_entropy(Masked(config=stored.config, checkpoints=stored.checkpoints, mask=mask)).set_index("layer")


def random_mask(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(3)) < 0.4


def test_periodic_masks_have_a_lower_entropy_than_shuffled_ones(made, wave):
    periodic = torch.stack([wave(P, 1 + d % 33, 0.1 * d) > 0.3 for d in range(D)], 1)
    found = table(made, W_E=periodic, W_U=random_mask(D, P))
    assert list(found.index) == ["W_E", "W_U"]
    assert found.loc["W_E", "excess"] < -0.3
    assert found.loc["W_U", "excess"] == pytest.approx(0, abs=0.01)
    assert found.loc["W_U", "kept"] == pytest.approx(0.4, abs=0.02)
    assert (found["excess"] == found["entropy"] - found["shuffled"]).all()


def test_dimensions_without_a_choice_and_tokens_that_are_no_operands_are_left_out(made):
    mask = random_mask(P + 3, D)
    filled = mask.clone()
    filled[P:] = True
    whole = torch.cat([filled, torch.ones(P + 3, 5, dtype=torch.bool), torch.zeros(P + 3, 5, dtype=torch.bool)], 1)
    assert table(made, W_E=whole).loc["W_E", "entropy"] == table(made, W_E=mask[:P]).loc["W_E", "entropy"]


def test_no_rows_without_masks(made):
    assert mask_entropy(made(p=P)).empty
    assert table(made, W_E=torch.ones(P, D, dtype=torch.bool)).empty
