"""Sparse parity: whole sequences are split, and the other bits are the distractors."""

from __future__ import annotations

import torch

from grokscope.tasks.autoregressive import AutoregressiveParity
from grokscope.tasks.parity import Parity


def sequences(tokens: torch.Tensor) -> set[tuple[int, ...]]:
    return {tuple(row) for row in tokens.tolist()}


def test_the_other_bits_count_as_distractors() -> None:
    task = Parity(n=10, k=3)
    assert task.distractors == 7
    assert task.shape.length == 11


def test_few_bits_are_split_exhaustively() -> None:
    split = Parity(n=6, k=2, train_fraction=0.5).split(0)
    train, test = sequences(split.train.inputs), sequences(split.test.inputs)
    assert (len(train), len(test)) == (32, 32)
    assert train.isdisjoint(test)


def test_many_bits_are_sampled_without_repeats() -> None:
    task = Parity(n=18, k=2, train_size=40_000, test_size=30_000)
    split = task.split(0)
    train, test = sequences(split.train.inputs), sequences(split.test.inputs)
    assert (len(train), len(test)) == (40_000, 30_000)
    assert train.isdisjoint(test)


def test_defaults_train_on_about_a_thousand() -> None:
    assert Parity().sizes == (1024, 4096)


def test_bits_are_fair() -> None:
    train = Parity(n=30, k=3, train_size=4000).split(0).train
    assert abs(train.inputs[:, :-1].float().mean() - 0.5) < 0.01
    assert abs(train.labels.float().mean() - 0.5) < 0.05


def test_informative_bits_can_stand_anywhere() -> None:
    task = Parity(n=5, k=2, positions=(4, 1), test_distractors=5)
    split = task.split(0)
    assert split.train.informative[0].nonzero().flatten().tolist() == [1, 4]
    assert split.test.informative[0].nonzero().flatten().tolist() == [3, 6]
    assert torch.equal(split.test.labels, (split.test.inputs[:, 3] + split.test.inputs[:, 6]) % 2)


def test_autoregressive_parity_is_parity_with_more_labels() -> None:
    settings = {"n": 8, "k": 3, "train_fraction": 0.5, "test_distractors": 9}
    plain, every = Parity(**settings), AutoregressiveParity(**settings)
    assert every.shape == plain.shape._replace(classes=3, every_position=True)
    for asked, answered in zip(plain.split(0), every.split(0), strict=True):
        assert torch.equal(asked.inputs, answered.inputs)
        assert torch.equal(asked.informative, answered.informative)
        assert torch.equal(asked.labels, answered.labels[:, -1])
        assert torch.equal(asked.inputs[:, 1:], answered.labels[:, :-1])
