"""The final test: exact where labels are independent of the answers, and able to see a difference."""

import torch

from grokscope.searching.confirm import permutation_p


def test_the_false_alarm_rate_is_the_level():
    generator = torch.Generator().manual_seed(0)
    alarms = sum(
        permutation_p(
            torch.randint(5, (40,), generator=generator), torch.randint(5, (40,), generator=generator), seed, 199
        )
        <= 0.05
        for seed in range(400)
    )
    assert alarms <= 32  # P(X > 32) = 0.5 % for 400 tests at 5 %


def test_answers_that_hold_are_found():
    generator = torch.Generator().manual_seed(1)
    labels = torch.randint(37, (47,), generator=generator)
    answers = torch.where(torch.rand(47, generator=generator) < 0.3, labels, torch.randint(37, (47,)))
    assert permutation_p(answers, labels, 0) <= 0.01
    assert permutation_p(labels.roll(1) * 0, labels, 0) == 1.0  # a constant answer holds nothing
