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


def draws(*keys, purpose="a", size=4000):
    return torch.stack([key.uniform(purpose, (size,)) for key in keys])


def unrelated(numbers):
    """No two rows are equal anywhere near as often, or correlated as strongly, as related ones would be."""
    correlation = torch.corrcoef(numbers) - torch.eye(len(numbers))
    return correlation.abs().max() < 0.1 and len({tuple(row.tolist()) for row in numbers}) == len(numbers)


def test_purposes_seeds_and_steps_are_independent():
    key = Key(torch.tensor(3), torch.tensor(8))
    assert unrelated(torch.stack([key.uniform(purpose, (4000,)) for purpose in ("dropout", "dropout 1", "noise", "")]))
    assert unrelated(draws(*(Key(torch.tensor(a), torch.tensor(b)) for a in range(3) for b in range(3))))


def test_folding_gives_a_key_of_its_own_for_every_purpose():
    key = Key(torch.tensor(3), torch.tensor(8))
    folded = [key.fold("W_Q"), key.fold("W_K"), key.fold("W_Q").fold("W_K"), key.fold("W_K").fold("W_Q"), key]
    assert unrelated(draws(*folded))
    assert torch.equal(*draws(key.fold("W_Q"), key.fold("W_Q")))
    assert all(int(one.step) == 8 for one in folded)
    assert unrelated(draws(*(Key(torch.tensor(seed), torch.tensor(0)).fold("W_Q") for seed in range(6))))


def test_the_numbers_stay_what_they_were():
    """A stored run is continued with the same numbers."""
    key = Key(torch.tensor(3), torch.tensor(8)).fold("W_Q")
    assert [round(x, 6) for x in key.uniform("a", (3,)).tolist()] == [0.613249, 0.560924, 0.007104]
    assert torch.equal(
        key.fold("x").uniform("a", (9,)), Key(key.seed, key.step).fold("W_Q").fold("x").uniform("a", (9,))
    )


def test_a_folded_key_does_not_depend_on_the_lane():
    seeds, steps = torch.tensor([5, 9, 5]), torch.tensor([2, 2, 2])
    stacked = vmap(lambda seed, step: Key(seed, step).fold("W_Q").normal("noise", (6,)))(seeds, steps)
    assert torch.equal(stacked[0], stacked[2])
    alone = Key(torch.tensor(9), torch.tensor(2)).fold("W_Q").normal("noise", (6,))
    torch.testing.assert_close(stacked[1], alone)


KERNEL = """
import os, torch
from torch.func import vmap
from grokscope.randomness import Key
place = "cpu" if os.environ.get("TRITON_INTERPRET") else "cuda"
seeds, steps = torch.tensor([5, 9, 2**31 + 3]), torch.tensor([2, 0, 123456789])
def draws(where):
    def of(seed, step):
        key = Key(seed, step).fold("x")
        deep = key.fold("y").fold("z").fold("W_Q").fold("more")
        return key.uniform("a", (7, 300)), key.normal("b", (2, 3, 5)), key.normal("b", ()), deep.normal("c", (9,))
    alone = of(seeds[0].to(where), steps[0].to(where))
    return [t.cpu() for t in (*vmap(of)(seeds.to(where), steps.to(where)), *alone)]
wanted = draws("cpu")
Key._has_kernel = property(lambda key: True)
found = draws(place)
assert [t.shape for t in found] == [t.shape for t in wanted]
for number in (0, 4):
    assert torch.equal(found[number], wanted[number])  # an order of examples is the same on every device
for a, b in zip(found, wanted, strict=True):
    torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
print("same")
"""


def test_the_gpu_kernel_draws_the_same_numbers(say_same):
    say_same(KERNEL)
