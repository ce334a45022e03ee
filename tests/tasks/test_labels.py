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
from grokscope.tasks.modular import Modular, is_prime
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


@pytest.mark.parametrize(("typed", "plain"), [("−", "-"), ("×", "*"), ("÷", "/"), ("x²+xy+y²", "x2+xy+y2")])
def test_typographic_signs_are_the_plain_ones(typed: str, plain: str) -> None:
    task = Modular.from_dict({"p": 7, "op": typed})
    assert task == Modular(p=7, op=plain)
    assert task.to_dict()["op"] == plain


def test_unknown_op_names_its_field() -> None:
    with pytest.raises(ConfigError) as error:
        Modular.from_dict({"op": "x2+y3"}, room="task")
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
