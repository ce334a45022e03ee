"""What is said of a time that a run does not have."""

from __future__ import annotations

import pytest

from grokscope.analysis import unfinished, unreached, unreached_word


def test_only_a_run_that_was_trained_to_its_last_epoch_never_got_there() -> None:
    assert unreached("done", 1400) == "never by epoch 1,400"
    assert unreached("done", 1400, "grokked") == "never grokked by epoch 1,400"
    assert unreached("stopped", 400) == "not by epoch 400 (stopped)"
    assert unreached("diverged", 400, "grokked") == "not grokked by epoch 400 (diverged)"
    assert unreached("", 400) == "not by epoch 400"


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ("done", "never"),
        ("stopped", "not yet"),
        ("running", "not yet"),
        ("grokked", "not yet"),
        ("diverged", "diverged"),
        ("damaged", "–"),
    ],
)
def test_a_word_for_a_cell(status: str, word: str) -> None:
    assert unreached_word(status) == word


def test_the_unfinished_are_counted() -> None:
    assert unfinished(["done", "stopped", "diverged", "stopped", ""]) == ", 2 stopped, 1 diverged"
    assert unfinished(["done", "done"]) == ""
