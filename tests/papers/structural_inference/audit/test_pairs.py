"""Pairs: every two inputs that differ at one informative position and in their label, found again by brute force."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from grokscope.config import RunConfig
from grokscope.papers.structural_inference.audit.pairs import pairs_of
from grokscope.tasks.addition import Addition
from grokscope.tasks.autoregressive import AutoregressiveParity
from grokscope.tasks.base import Shape, Task
from grokscope.tasks.modular import OPS, Modular
from grokscope.tasks.parity import Parity
from grokscope.tasks.permutation import Permutation

TASKS = [
    Modular(p=5, distractors=2, alphabet=3),
    Modular(p=5, distractors=1, alphabet="operands", positions=(2, 0)),
    Modular(p=5, distractors=2, placement="random"),
    Modular(p=5, distractors=1, test_distractors=3),
    Modular(p=5, op="/"),
    Addition(p=3, k=3, train_fraction=0.5),
    Permutation(n=3, train_fraction=0.5),
    Parity(n=6, k=2, train_fraction=0.5),
    AutoregressiveParity(n=6, k=2, train_fraction=0.5),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.kind)
def test_a_pair_differs_at_one_informative_position(task):
    config = RunConfig(task=task, seed=3)
    pairs = pairs_of(config)
    test = task.split(3).test
    assert pairs.exhaustive
    assert torch.equal(pairs.inputs.inputs, test.inputs)
    differ = pairs.inputs.inputs[pairs.first] != pairs.tokens
    assert (differ.sum(1) == 1).all()
    assert differ.gather(1, pairs.position[:, None]).all()
    assert test.informative[pairs.first].gather(1, pairs.position[:, None]).all()


@pytest.mark.parametrize("op", ["+", "*", "x2+y2"])
def test_all_pairs_with_another_label_are_there_and_no_other(op):
    task = Modular(p=5, op=op, distractors=1, alphabet=2)
    pairs = pairs_of(RunConfig(task=task))
    expected = set()
    for row, (a, b, *rest) in enumerate(task.split(0).test.inputs.tolist()):
        label = OPS[op](torch.tensor(a), torch.tensor(b), 5)
        for c in range(5):
            for x, y in ((c, b), (a, c)):
                if OPS[op](torch.tensor(x), torch.tensor(y), 5) != label:
                    expected.add((row, x, y, *rest))
    found = [(row, *tokens) for row, tokens in zip(pairs.first.tolist(), pairs.tokens.tolist(), strict=True)]
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_flipping_an_informative_bit_always_changes_the_parity():
    task = Parity(n=6, k=2, train_fraction=0.5)
    pairs = pairs_of(RunConfig(task=task))
    assert len(pairs.first) == 2 * task.sizes[1]
    assert set(pairs.position.tolist()) == {0, 1}


def test_too_many_pairs_are_sampled_and_said_to_be():
    config = RunConfig(task=Modular(p=31))
    pairs = pairs_of(config, limit=1000)
    assert not pairs.exhaustive
    assert 0 < len(pairs.first) <= 1000
    assert len(set(pairs.first.tolist())) <= 64
    again = pairs_of(config, limit=1000)
    assert torch.equal(pairs.tokens, again.tokens)


def test_a_smaller_sample_is_spread_over_the_pairs():
    pairs = pairs_of(RunConfig(task=Modular(p=5)))
    few = pairs.sample(10)
    assert len(few.first) == len(few.tokens) == len(few.position) == 10
    assert not few.exhaustive
    assert set(few.position.tolist()) == {0, 1}
    assert pairs.sample(10**6) is pairs


def test_a_task_without_a_table_has_no_pairs():
    class Other(Task):
        @property
        def shape(self) -> Shape:
            return Shape(3, 3, 3, 2, 4, 4)

    assert pairs_of(replace(RunConfig(), task=Other())) is None
