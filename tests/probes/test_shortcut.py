"""Shortcuts: models that answer from a known part of the sequence are caught doing so."""

import math

import pytest
import torch

from grokscope.config import RunConfig
from grokscope.errors import StoreError
from grokscope.probes.shortcut import groups, shortcut
from grokscope.tasks.modular import Modular

P = 11


def table_of(made, answer):
    """Accuracies by side and kept tokens of a model that answers with class `answer(a, b, c, d)`, sure of it by 20 nats."""

    def logits(tokens):
        return 20 * torch.nn.functional.one_hot(answer(*tokens.T[:4]) % P, P).float()

    return shortcut(made(p=P, distractors=2, epochs=(10,), answer=logits)).set_index(["side", "kept"])


def test_a_model_that_adds_needs_both_operands_and_no_distractor(made):
    table = table_of(made, lambda a, b, c, d: a + b)["accuracy"]
    for side in ("train", "test"):
        assert table[side, "everything"] == table[side, "operands"] == 1
        for kept in ("distractors", "operand 1", "operand 2", "all but operand 1", "all but operand 2"):
            assert table[side, kept] < 0.35


def test_a_model_that_reads_one_operand_answers_from_it_alone(made):
    table = table_of(made, lambda a, b, c, d: 2 * a)["accuracy"]
    for side in ("train", "test"):
        own = table[side, "everything"]
        assert table[side, "operand 1"] == table[side, "operands"] == table[side, "all but operand 2"] == own


def test_cross_entropy_is_that_of_the_own_label(made):
    """A model that says class 0 always is right for 1 in p, and 20 nats off for the rest."""
    table = table_of(made, lambda a, b, c, d: 0 * a)
    right = table["accuracy"]
    sure = math.log(1 + (P - 1) * math.exp(-20))
    assert (table["cross_entropy"] - (sure + 20 * (1 - right))).abs().max() < 1e-6


def test_a_model_that_memorises_through_distractors(made):
    """It knows the sum of the training example with these distractors and this first operand."""
    stored = made(p=P, distractors=2, epochs=(10,))
    train = stored.split.train
    known = {tuple(row[[0, 2, 3]].tolist()): label for row, label in zip(train.inputs, train.labels, strict=True)}

    def logits(tokens):
        found = torch.stack([known.get(tuple(row[[0, 2, 3]].tolist()), torch.tensor(0)) for row in tokens])
        return torch.nn.functional.one_hot(found, P).float()

    table = shortcut(made(p=P, distractors=2, epochs=(10,), answer=logits)).set_index(["side", "kept"])["accuracy"]
    assert table["train", "everything"] == table["train", "all but operand 2"] >= 0.95
    assert table["train", "operands"] < 0.5
    assert table["train", "distractors"] < 0.5
    assert table["test", "everything"] < 0.5


def test_every_other_token_comes_from_one_other_example_of_the_set(made):
    seen = []

    def logits(tokens):
        seen.append(tokens)
        return torch.zeros(len(tokens), P)

    stored = made(p=P, distractors=2, epochs=(10,), answer=logits)
    shortcut(stored)
    train = stored.split.train.inputs
    names = list(groups(stored, stored.split.train))
    mixed = dict(zip(names, seen, strict=False))
    assert torch.equal(mixed["everything"], train)
    for kept, own in (
        ("operands", [0, 1]),
        ("distractors", [2, 3]),
        ("operand 2", [1]),
        ("all but operand 1", [1, 2, 3]),
    ):
        rest = [place for place in range(4) if place not in own]
        assert torch.equal(mixed[kept][:, own], train[:, own])
        donors = (mixed[kept][:, None, rest] == train[None][..., rest]).all(-1)
        assert donors.any(1).all()
    swapped = mixed["operands"][:, 2:4]
    assert not torch.equal(swapped, train[:, 2:4])
    assert torch.equal(swapped[swapped[:, 0].argsort(stable=True), 0], train[train[:, 2].argsort(stable=True), 2])


def test_places_that_differ_between_examples_are_refused(made):
    stored = made(p=P, distractors=2)
    task = Modular(p=P, distractors=2, placement="random")
    with pytest.raises(StoreError, match="fixed, known positions"):
        groups(stored, task.split(0).train)
    assert RunConfig(task=task).check()


def test_without_distractors_only_operands_are_told_apart(made):
    stored = made(p=P)
    assert list(groups(stored, stored.split.test)) == [
        "everything", "operand 1", "operand 2", "all but operand 1", "all but operand 2"
    ]  # fmt: skip
