"""The final test: exact where labels are independent of the answers, and able to see a difference."""

from dataclasses import replace

import pytest
import torch

from grokscope.errors import ConfigError
from grokscope.searching.confirm import check_confirmation, permutation_p
from grokscope.tasks.modular import Modular
from grokscope.tasks.parity import Parity


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
    answers = torch.where(
        torch.rand(47, generator=generator) < 0.3, labels, torch.randint(37, (47,), generator=generator)
    )
    assert permutation_p(answers, labels, 0) <= 0.01
    assert permutation_p(labels.roll(1) * 0, labels, 0) == 1.0  # a constant answer holds nothing


def test_examples_that_could_confirm_nothing_are_refused(tiny):
    """Of five labels 0 0 0 1 1 there are ten orders, each as probable as the right one."""
    config = replace(tiny, task=Parity(n=9, k=2, train_size=100, confirmation=0.05), data_seed=1)
    labels = config.task.set_aside(1).confirmation.labels
    assert sorted([int(labels.sum()), 5 - int(labels.sum())]) == [2, 3]
    with pytest.raises(ConfigError, match=r"5 examples are too few: with every answer correct p would be 0.1, above"):
        check_confirmation(config, 0.09)
    check_confirmation(config, 0.11)
    with pytest.raises(ConfigError, match=r"search.level: 5e-05 is below 0.0001"):
        check_confirmation(replace(tiny, task=Modular(p=11, train_fraction=0.8, confirmation=0.2)), 5e-5)
