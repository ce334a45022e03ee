"""Invalid settings: one line that names the field."""

from __future__ import annotations

import pytest

from grokscope.errors import ConfigError
from grokscope.tasks import tasks

IMPOSSIBLE = [
    ("modular", {"p": 1}, "p"),
    ("modular", {"p": 9, "op": "/"}, "p"),
    ("modular", {"op": "^"}, "op"),
    ("modular", {"distractors": -1}, "distractors"),
    ("modular", {"alphabet": 0}, "alphabet"),
    ("modular", {"alphabet": "operands", "placement": "random"}, "placement"),
    ("modular", {"positions": (0, 1), "placement": "random"}, "positions"),
    ("modular", {"positions": (0, 1, 2)}, "positions"),
    ("modular", {"positions": (0, 1, 2, 3, 4)}, "positions"),
    ("modular", {"positions": (1, 1)}, "positions"),
    ("modular", {"positions": (0, 4)}, "positions"),
    ("modular", {"positions": (-1, 0)}, "positions"),
    ("modular", {"test_distractors": 1}, "test_distractors"),
    ("modular", {"train_fraction": 0.0}, "train_fraction"),
    ("modular", {"train_fraction": 1.0}, "train_fraction"),
    ("modular", {"train_fraction": -0.5}, "train_fraction"),
    ("modular", {"train_fraction": float("nan")}, "train_fraction"),
    ("modular", {"p": 2, "train_fraction": 0.05}, "train_fraction"),
    ("modular", {"p": 5, "train_size": 25}, "train_size"),
    ("modular", {"train_size": 0}, "train_size"),
    ("modular", {"p": 401, "train_size": 401**2}, "train_size"),
    ("modular", {"test_size": 0}, "test_size"),
    ("modular", {"p": 5, "train_size": 20, "test_size": 6}, "test_size"),
    ("modular", {"p": 9, "op": "/ or -"}, "p"),
    ("modular", {"op": "-", "pairs": "unordered"}, "pairs"),
    ("modular", {"p": 5, "pairs": "unordered", "train_size": 15}, "train_size"),
    ("k-addition", {"p": 1}, "p"),
    ("k-addition", {"k": 0}, "k"),
    ("permutation", {"n": 1}, "n"),
    ("permutation", {"n": 9}, "n"),
    ("parity", {"n": 0}, "n"),
    ("parity", {"n": 4, "k": 5}, "k"),
    ("parity", {"k": 0}, "k"),
    ("parity", {"n": 5, "k": 2, "positions": (0, 5)}, "positions"),
    ("parity", {"n": 5, "k": 2, "test_distractors": 2}, "test_distractors"),
    ("parity", {"form": "signs", "test_distractors": 40}, "test_distractors"),
    ("ar-parity", {"n": 3, "k": 2, "train_size": 8}, "train_size"),
    ("ar-parity", {"form": "signs"}, "form"),
    ("polynomial", {"dimension": 0}, "dimension"),
    ("polynomial", {"train_size": 1}, "train_size"),
    ("mnist", {"train_size": 0}, "train_size"),
    ("imdb", {"test_size": 0}, "test_size"),
    ("imdb", {"words": 0}, "words"),
    ("imdb", {"length": 0}, "length"),
]


@pytest.mark.parametrize(("kind", "settings", "field"), IMPOSSIBLE)
def test_impossible_settings_name_their_field(kind: str, settings: dict, field: str) -> None:
    with pytest.raises(ConfigError) as error:
        tasks.get(kind)(**settings).check()
    assert error.value.field == field
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("modular", {"p": 9, "op": "*"}),
        ("modular", {"positions": (3, 0)}),
        ("modular", {"distractors": 0, "alphabet": "operands", "placement": "random"}),
        ("modular", {"p": 5, "train_size": 20, "test_size": 5}),
        ("modular", {"p": 5, "pairs": "unordered", "train_size": 14}),
        ("k-addition", {"k": 1}),
        ("parity", {"n": 20_000}),
        ("parity", {"n": 5, "k": 5}),
    ],
)
def test_their_neighbours_are_possible(kind: str, settings: dict) -> None:
    tasks.get(kind)(**settings).check()
