"""Randomness depends on the seed and the purpose, and looks random."""

import torch
from torch.func import vmap

from grokscope.randomness import Key, stream


def test_streams_depend_on_seed_and_purpose_alone():
    draws = [
        torch.rand(4, generator=stream(seed, purpose)).tolist()
        for seed in (0, 1)
        for purpose in ("a", "b")
        for _ in "12"
    ]
    assert draws[0] == draws[1]
    assert len({tuple(d) for d in draws}) == 4


def test_counters_have_the_moments_of_their_distribution():
    many = torch.stack([Key(torch.tensor(7), torch.tensor(step)).uniform("a", (1000,)) for step in range(50)])
    assert 0 < many.min()
    assert many.max() < 1
    assert abs(many.mean() - 0.5) < 0.01
    assert abs(many.var() - 1 / 12) < 0.005
    neighbours = torch.corrcoef(torch.stack([many[:, :-1].flatten(), many[:, 1:].flatten()]))[0, 1]
    steps = torch.corrcoef(torch.stack([many[:-1].flatten(), many[1:].flatten()]))[0, 1]
    assert max(abs(neighbours), abs(steps)) < 0.02
    assert many.unique().numel() > 0.99 * many.numel()
    normal = Key(torch.tensor(7), torch.tensor(3)).normal("a", (20000,))
    assert abs(normal.mean()) < 0.03
    assert abs(normal.std() - 1) < 0.03


def test_counters_do_not_depend_on_the_lane():
    seeds, steps = torch.tensor([5, 9, 5]), torch.tensor([2, 2, 2])
    stacked = vmap(lambda seed, step: Key(seed, step).uniform("a", (6,)))(seeds, steps)
    assert torch.equal(stacked[0], stacked[2])
    assert torch.equal(stacked[1], Key(torch.tensor(9), torch.tensor(2)).uniform("a", (6,)))
    assert not torch.equal(stacked[0], stacked[1])
