"""Distractors, placement and length: what SparseTask adds to operands."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grokscope.tasks import Examples, Task, tasks
from grokscope.tasks.addition import Addition
from grokscope.tasks.modular import Modular
from grokscope.tasks.table import TableTask


def operands(examples: Examples) -> torch.Tensor:
    """The informative tokens of every example, from left to right."""
    return examples.inputs[examples.informative].view(len(examples.inputs), -1)


def distractors(examples: Examples) -> torch.Tensor:
    return examples.inputs[:, :-1][~examples.informative[:, :-1]].view(len(examples.inputs), -1)


def rows(tokens: torch.Tensor) -> set[tuple[int, ...]]:
    return {tuple(row) for row in tokens.tolist()}


def test_layout_by_hand() -> None:
    task = Modular(p=5, distractors=2, alphabet=1, positions=(3, 0))
    examples = task.examples(torch.tensor([[1, 2], [4, 0]]), 2, "train", 0)
    assert examples.inputs.tolist() == [[2, 5, 5, 1, 6], [0, 5, 5, 4, 6]]
    assert examples.informative.tolist() == [[True, False, False, True, False]] * 2
    assert examples.labels.tolist() == [3, 4]


def test_operands_come_first_by_default() -> None:
    train = Addition(p=5, k=3, distractors=2).split(0).train
    assert train.informative.tolist() == [[True, True, True, False, False, False]] * len(train.inputs)


def test_fraction_and_sizes_split_the_whole_table() -> None:
    split = Modular(p=7, train_fraction=0.3).split(0)
    assert (len(split.train.inputs), len(split.test.inputs)) == (14, 35)  # 0.3 · 49 = 14.7, rounded down
    assert rows(operands(split.train)) | rows(operands(split.test)) == {(a, b) for a in range(7) for b in range(7)}
    split = Modular(p=7, train_size=10, test_size=5).split(0)
    assert (len(split.train.inputs), len(split.test.inputs)) == (10, 5)


@pytest.mark.parametrize("settings", [{"p": 7}, {"p": 7, "placement": "random"}, {"p": 401, "train_size": 60_000}])
def test_train_and_test_share_no_operands(settings: dict) -> None:
    task = Modular(**settings)
    split = task.split(0)
    train, test = rows(operands(split.train)), rows(operands(split.test))
    assert (len(train), len(test)) == task.sizes  # no pair twice in either
    assert train.isdisjoint(test)


@pytest.mark.parametrize(
    "change",
    [
        {"alphabet": 3},
        {"alphabet": "operands"},
        {"distractors": 0},
        {"distractors": 5},
        {"placement": "random"},
        {"test_distractors": 9},
        {"positions": (1, 3)},
    ],
)
def test_the_split_of_operands_ignores_the_distractors(change: dict) -> None:
    for before, after in zip(Modular(p=11).split(5), Modular(**{"p": 11} | change).split(5), strict=True):
        assert torch.equal(operands(before), operands(after))
        assert torch.equal(before.labels, after.labels)


def test_a_larger_fraction_adds_examples_and_keeps_the_others() -> None:
    few, many = (Modular(p=11, train_fraction=fraction).split(0).train for fraction in (0.3, 0.6))
    assert rows(operands(few)) < rows(operands(many))


def test_length_at_test_leaves_training_as_it_was() -> None:
    before, after = (Modular(p=11, placement="random", test_distractors=more).split(0).train for more in (None, 7))
    assert torch.equal(before.inputs, after.inputs)


def test_distractors_fill_their_alphabet_and_differ_between_examples() -> None:
    for part in Modular(p=23, distractors=3, alphabet=4).split(0):
        drawn = distractors(part)
        assert set(drawn.flatten().tolist()) == {23, 24, 25, 26}
        assert all(len(set(column.tolist())) == 4 for column in drawn.unbind(1))
        assert len(rows(drawn)) > 4**3 / 2  # columns vary independently


def test_distractors_of_train_and_test_are_drawn_apart() -> None:
    split = Modular(p=23, train_fraction=0.5).split(0)
    shared = min(len(part.inputs) for part in split)
    assert not torch.equal(distractors(split.train)[:shared], distractors(split.test)[:shared])


def test_an_alphabet_of_one_is_a_constant() -> None:
    task = Modular(p=7, alphabet=1)
    assert task.shape.vocabulary == 9
    for part in task.split(0):
        assert (distractors(part) == 7).all()


def test_distractors_from_the_operand_vocabulary_need_no_symbols() -> None:
    task = Modular(p=7, alphabet="operands")
    assert task.shape.vocabulary == 8
    assert set(distractors(task.split(0).test).flatten().tolist()) == set(range(7))


def test_without_distractors_there_are_no_symbols_for_them() -> None:
    assert Modular(p=7, distractors=0).shape.vocabulary == 8
    assert Modular(p=7, distractors=0, test_distractors=1, alphabet=4).shape.vocabulary == 12


@pytest.mark.parametrize("kind", [kind for kind, cls in tasks.entries().items() if issubclass(cls, TableTask)])
def test_longer_tests_grow_on_the_left(small: Callable[..., Task], kind: str) -> None:
    longer = small(kind).distractors + 3
    short, long = small(kind).split(0), small(kind, test_distractors=longer).split(0)
    assert torch.equal(short.train.inputs, long.train.inputs)
    assert not long.test.informative[:, :3].any()
    assert torch.equal(long.test.informative[:, 3:], short.test.informative)
    assert torch.equal(operands(long.test), operands(short.test))
    assert len(rows(long.test.inputs[:, :3])) > 1


def test_random_placement_differs_per_example_and_keeps_the_order() -> None:
    task = Modular(p=11, op="-", distractors=2, placement="random", test_distractors=3)
    split = task.split(0)
    for part, places in zip(split, (6, 10), strict=True):  # 4 choose 2, 5 choose 2
        assert len(rows(part.informative)) == places
        pairs = operands(part)
        assert torch.equal((pairs[:, 0] - pairs[:, 1]) % 11, part.labels)


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(["modular", "k-addition", "permutation", "parity"]),
    st.integers(0, 2**40),
    st.sampled_from(["fixed", "random"]),
    st.data(),
)
def test_other_tokens_never_matter(
    small: Callable[..., Task], kind: str, seed: int, placement: str, data: st.DataObject
) -> None:
    changes: dict = {"test_distractors": 7}
    if kind != "parity":
        changes |= {"placement": placement, "alphabet": data.draw(st.integers(1, 5))}
    task = small(kind, **changes)
    for part in task.split(seed):
        # Every token that is not marked becomes another symbol; the label is read off the marked ones.
        changed = torch.where(part.informative, part.inputs, (part.inputs + 1) % task.vocabulary)
        marked = operands(part._replace(inputs=changed))
        answer = marked.sum(dim=1) % 2 if kind == "parity" else task.label(marked)
        assert torch.equal(answer, part.labels)


def test_every_informative_token_matters() -> None:
    for part in Addition(p=5, k=3, placement="random").split(0):
        marked = operands(part)
        for operand in range(3):
            changed = marked.clone()
            changed[:, operand] = (changed[:, operand] + 1) % 5
            assert (Addition(p=5, k=3).label(changed) != part.labels).all()
