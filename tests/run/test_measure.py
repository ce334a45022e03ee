"""A measure that comes after training is evaluated on the checkpoints that a run kept."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from grokscope.config import Log
from grokscope.launch import train
from grokscope.measures import measures
from grokscope.run import StoredRun
from grokscope.run.measure import add_missing, missing_measures
from grokscope.store import load_runs, read_run


@pytest.fixture
def later(monkeypatch):
    """Register a measure while a test runs."""

    def register(name, measure):
        monkeypatch.setitem(measures.entries(), name, measure)

    return register


def confidence(view):
    return {"test_confidence": view.test.logits.softmax(-1).amax(-1).mean(), "norm_again": view.weights["W_E"].norm()}


def test_it_is_evaluated_where_there_is_a_checkpoint(tiny, tmp_path, later):
    (info,) = train(replace(tiny, log=Log(every=2, keep=4)), runs=tmp_path)
    assert add_missing(StoredRun(info)) is None
    later("confidence", confidence)
    assert missing_measures(StoredRun(info)) == ["confidence"]
    added = add_missing(StoredRun(info))
    assert (added.measures, added.columns, added.epochs) == (
        ["confidence"],
        ["norm_again", "test_confidence"],
        [4, 8, 12],
    )
    run = StoredRun(read_run(info.path))
    table = run.metrics.set_index("epoch")
    assert list(table.index[table["test_confidence"].notna()]) == [4, 8, 12]
    np.testing.assert_array_equal(table["norm_again"].dropna(), table["norm_W_E"][[4, 8, 12]])
    by_hand = run.network(8)(run.split.test).answers.softmax(-1).amax(-1).mean()
    torch.testing.assert_close(torch.tensor(table["test_confidence"][8]).float(), by_hand)
    assert add_missing(run) is None  # once
    assert load_runs(tmp_path)["test_confidence"].notna().sum() == 3


def test_a_measure_that_has_nothing_to_say_is_not_asked_again(tiny, tmp_path, later):
    (info,) = train(tiny, runs=tmp_path)
    later("silent", lambda view: {})
    assert add_missing(StoredRun(info)).columns == []
    assert missing_measures(StoredRun(read_run(info.path))) == []
