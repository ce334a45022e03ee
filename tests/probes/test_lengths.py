"""Lengths: a network that reads fixed places from the query keeps its accuracy, one that reads places from the start does not."""

from dataclasses import replace

import pytest
import torch

from grokscope.config import RunConfig
from grokscope.errors import StoreError
from grokscope.probes.lengths import lengths
from grokscope.tasks.modular import Modular
from grokscope.tasks.polynomial import Polynomial

P = 11
TASK = Modular(p=P, distractors=2, test_distractors=4, alphabet=3, train_fraction=0.5)


def run_with(made, answer, task=TASK):
    def logits(tokens):
        return torch.nn.functional.one_hot(answer(tokens) % P, P).float()

    return replace(made(epochs=(10, 20), answer=logits), config=RunConfig(task=task))


def test_a_network_that_counts_from_the_query_is_right_at_every_length(made):
    table = lengths(run_with(made, lambda tokens: tokens[:, -5] + tokens[:, -4]))
    assert list(zip(table["epoch"], table["length"], strict=True)) == [(e, n) for e in (10, 20) for n in (5, 6, 7)]
    assert (table["accuracy"] == 1).all()


def test_a_network_that_counts_from_the_start_is_right_at_the_length_of_training_only(made):
    table = lengths(run_with(made, lambda tokens: tokens[:, 0] + tokens[:, 1])).set_index(["epoch", "length"])
    assert table["accuracy"][10, 5] == 1
    assert table["accuracy"][10, 6] < 0.3 and table["accuracy"][10, 7] < 0.3


def test_the_longest_are_the_test_set_of_the_run(made):
    run = run_with(made, lambda tokens: tokens.sum(1))
    right = (run.split.test.inputs.sum(1) % P == run.split.test.labels).double().mean().item()
    assert lengths(run)["accuracy"].iloc[-1] == pytest.approx(right)


def test_a_run_with_one_length_has_one(made):
    run = run_with(made, lambda tokens: tokens[:, -5] + tokens[:, -4], replace(TASK, test_distractors=None))
    assert lengths(run)[["length", "accuracy"]].drop_duplicates().to_dict("records") == [{"length": 5, "accuracy": 1.0}]


def test_a_task_without_distractors_is_refused(made):
    run = replace(made(epochs=(10,)), config=RunConfig(task=Polynomial()))
    with pytest.raises(StoreError, match="polynomial is none"):
        lengths(run)
