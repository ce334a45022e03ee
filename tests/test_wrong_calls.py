"""Calls from Python with values that cannot be meant: one line before anything is written."""

import pandas as pd
import pytest
import torch

import grokscope
from grokscope import ConfigError, RunConfig, plot
from grokscope.analysis import find_phases, run_times

MAKE = 'is not a RunConfig; RunConfig(task="parity") and RunConfig.from_toml(FILE) make one'
TABLE = pd.DataFrame({"epoch": [0, 1], "train_acc": [0.0, 1.0], "test_accuracy": [0.0, 1.0]})


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: grokscope.train("parity"), f"config: 'parity' {MAKE}"),
        (lambda: grokscope.train({"task": "parity"}), f"config: {{'task': 'parity'}} {MAKE}"),
        (lambda: grokscope.train(RunConfig), f"config: the class RunConfig {MAKE}"),
        (lambda: grokscope.train_all(["parity"]), f"config: 'parity' {MAKE}"),
        (
            lambda: grokscope.train_all(RunConfig()),
            "configs: is one RunConfig; give a list of them, or use grokscope.train",
        ),
        (lambda: grokscope.train(RunConfig(), callbacks=[1]), "callbacks: [1] is not a list of functions"),
        (lambda: grokscope.train(RunConfig(), callbacks="row"), "callbacks: 'row' is not a list of functions"),
        (lambda: plot.curves([]), "runs: there are none to draw"),
        (
            lambda: run_times(TABLE),
            "metrics: the table of a run needs a column 'train_accuracy'. Did you mean train_acc?",
        ),
        (
            lambda: find_phases(TABLE),
            "metrics: the table of a run needs a column 'train_accuracy'. Did you mean train_acc?",
        ),
    ],
)
def test_it_is_one_line_and_nothing_is_written(call, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as error:
        call()
    assert str(error.value) == line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("value", "what"), [("high", "'high'"), ([1, 2], "list"), (torch.zeros(2), "Tensor"), (None, "NoneType")]
)
def test_a_row_of_a_loop_of_ones_own_has_numbers_only(value, what, tmp_path):
    with grokscope.log(tmp_path) as run:
        with pytest.raises(ConfigError) as error:
            run.row(0, train_loss=value)
        run.row(0, train_loss=1)
    line = f"train_loss: {what} is neither a number nor a tensor or function that gives one"
    assert str(error.value) == line
    assert [row["train_loss"] for row in run.rows] == [1.0]
