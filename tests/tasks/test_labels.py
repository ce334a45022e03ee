"""Labels worked out by hand, and properties that hold for all operands."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grokscope.errors import ConfigError
from grokscope.tasks.addition import Addition
from grokscope.tasks.autoregressive import AutoregressiveParity
from grokscope.tasks.modular import COMMUTES, OPS, Modular, is_prime
from grokscope.tasks.parity import Parity
from grokscope.tasks.permutation import Permutation


def label(task, *operands: int) -> int:
    return task.label(torch.tensor([operands])).item()


@pytest.mark.parametrize(
    ("op", "a", "b", "answer"),
    [
        ("+", 5, 4, 2),
        ("-", 2, 5, 4),
        ("*", 3, 4, 5),
        ("/", 3, 5, 2),  # 2 · 5 = 10 = 3 mod 7
        ("/", 0, 6, 0),
        ("x2+y2", 3, 4, 4),  # 25 = 4 mod 7
        ("x2+xy+y2", 3, 4, 2),  # 9 + 12 + 16 = 37 = 2 mod 7
        ("x2+xy+y2+x", 3, 4, 5),  # 3 more
        ("x3+xy", 3, 4, 4),  # 27 + 12 = 39 = 4 mod 7
        ("x3+xy2+y", 3, 4, 2),  # 27 + 48 + 4 = 79 = 2 mod 7
        ("/ or -", 3, 5, 2),  # 5 is odd: as for /
        ("/ or -", 3, 4, 6),  # 4 is even: −1 = 6 mod 7
        ("/ or -", 3, 0, 3),
    ],
)
def test_modular(op: str, a: int, b: int, answer: int) -> None:
    assert label(Modular(p=7, op=op), a, b) == answer


@settings(deadline=None)
@given(st.sampled_from([2, 3, 5, 7, 11, 13, 113]), st.data())
def test_division_undoes_multiplication(p: int, data: st.DataObject) -> None:
    a, b = data.draw(st.integers(0, p - 1)), data.draw(st.integers(1, p - 1))
    product = label(Modular(p=p, op="*"), a, b)
    assert label(Modular(p=p, op="/"), product, b) == a


def test_division_never_meets_a_zero_divisor() -> None:
    task = Modular(p=5, op="/", distractors=0, train_fraction=0.5)
    tokens = torch.cat([part.inputs for part in task.split(0)])
    assert len(tokens) == 20
    assert set(tokens[:, 0].tolist()) == {0, 1, 2, 3, 4}
    assert set(tokens[:, 1].tolist()) == {1, 2, 3, 4}


@pytest.mark.parametrize("op", OPS)
def test_the_ops_that_may_have_unordered_pairs_are_those_that_commute(op: str) -> None:
    a, b = torch.cartesian_prod(torch.arange(1, 7), torch.arange(1, 7)).T
    assert torch.equal(OPS[op](a, b, 7), OPS[op](b, a, 7)) == (op in COMMUTES)


def test_subtraction_of_the_smaller_operand() -> None:
    task = Modular(p=5, op="-", pairs="a>=b", distractors=0, train_fraction=0.5)
    train, test = (side for side in task.split(0)[:2])
    rows = torch.cat([train.inputs, test.inputs])[:, :2].tolist()
    labels = torch.cat([train.labels, test.labels]).tolist()
    assert sorted(map(tuple, rows)) == [(a, b) for a in range(5) for b in range(a + 1)]
    assert labels == [a - b for a, b in rows]
    with pytest.raises(ConfigError, match="division excludes"):
        Modular(p=5, op="/", pairs="a>=b").check()


def test_unordered_pairs_are_each_pair_once() -> None:
    task = Modular(p=5, pairs="unordered", distractors=0, train_fraction=0.5)
    pairs = [tuple(row) for part in task.split(0) for row in part.inputs[:, :2].tolist()]
    assert sorted(pairs) == [(a, b) for a in range(5) for b in range(a + 1)]
    assert Modular(p=67, pairs="unordered", train_fraction=0.4).sizes == (911, 1367)  # 67 · 68 / 2 in all


def test_parity_as_signs_is_a_product() -> None:
    """With 0 as +1 and 1 as −1 the product of the informative signs is +1 for parity 0."""
    for part in Parity(n=7, k=3, positions=(1, 4, 6), train_fraction=0.3, form="signs").split(0):
        assert part.inputs.abs().eq(1).all()
        assert torch.equal(part.inputs[:, [1, 4, 6]].prod(1), 1.0 - 2 * part.labels)
        assert part.labels.unique().tolist() == [0, 1]


@pytest.mark.parametrize(
    ("typed", "plain"), [("−", "-"), ("×", "*"), ("÷", "/"), ("x²+xy+y²", "x2+xy+y2"), ("x³+xy", "x3+xy")]
)
def test_typographic_signs_are_the_plain_ones(typed: str, plain: str) -> None:
    task = Modular.from_dict({"p": 7, "op": typed})
    assert task == Modular(p=7, op=plain)
    assert task.to_dict()["op"] == plain


def test_unknown_op_names_its_field() -> None:
    with pytest.raises(ConfigError) as error:
        Modular.from_dict({"op": "x2+y3"}, path="task")
    assert error.value.field == "task.op"
    assert "x2+y2" in error.value.problem


def test_primes() -> None:
    assert [number for number in range(-1, 30) if is_prime(number)] == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    assert not is_prime(113 * 127)


def test_addition_of_k_operands() -> None:
    assert label(Addition(p=7, k=4), 6, 5, 4, 3) == 4  # 18 = 4 mod 7
    assert label(Addition(p=5, k=1), 3) == 3


def test_parity_reads_the_informative_bits_alone() -> None:
    assert label(Parity(n=5, k=3), 1, 1, 1, 0, 0) == 1
    assert label(Parity(n=5, k=3), 1, 0, 1, 1, 1) == 0
    assert label(Parity(n=5, k=2, positions=(1, 4)), 0, 1, 1, 1, 0) == 1


def test_autoregressive_labels_are_the_next_token_then_the_parity() -> None:
    task = AutoregressiveParity(n=4, k=2, positions=(0, 3))
    examples = task.examples(torch.tensor([[1, 0, 0, 1], [1, 1, 1, 0]]), 2, "train", 0)
    assert examples.inputs.tolist() == [[1, 0, 0, 1, 2], [1, 1, 1, 0, 2]]
    assert examples.labels.tolist() == [[0, 0, 1, 2, 0], [1, 1, 0, 2, 1]]


def test_the_right_permutation_acts_first() -> None:
    # S_3 in lexicographic order: 0 = 012, 1 = 021, 2 = 102, 3 = 120, 4 = 201, 5 = 210.
    # σ = 102, π = 021: i ↦ σ(π(i)) = σ(0), σ(2), σ(1) = 1, 2, 0, which is number 3; the other way round it is 201.
    task = Permutation(n=3)
    assert label(task, 2, 1) == 3
    assert label(task, 1, 2) == 4


@settings(deadline=None)
@given(st.integers(2, 5), st.data())
def test_permutations_form_a_group(n: int, data: st.DataObject) -> None:
    task = Permutation(n=n)
    a, b, c = (data.draw(st.integers(0, task.symbols - 1)) for _ in range(3))
    assert label(task, 0, a) == label(task, a, 0) == a
    assert label(task, label(task, a, b), c) == label(task, a, label(task, b, c))


@settings(deadline=None)
@given(st.integers(2, 5), st.data())
def test_composition_agrees_with_functions(n: int, data: st.DataObject) -> None:
    group = list(itertools.permutations(range(n)))
    sigma, pi = (data.draw(st.integers(0, len(group) - 1)) for _ in range(2))
    composed = tuple(group[sigma][group[pi][i]] for i in range(n))
    assert label(Permutation(n=n), sigma, pi) == group.index(composed)
