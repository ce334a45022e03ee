"""Writing many figures: in which process, and that figures can be sent to other processes."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pandas as pd
import pytest
from matplotlib.layout_engine import ConstrainedLayoutEngine

from grokscope import figures
from grokscope.figures.parallel import MANY, InlineExecutor, executor_for
from grokscope.papers.structural_inference.figures.bump import loss_before_grokking
from grokscope.papers.structural_inference.figures.delay import delay_against
from grokscope.papers.structural_inference.figures.lead import lead_of_attention
from grokscope.store.results import Results


def delay(runs):
    points = pd.DataFrame({"panel": "", "series": "a", "x": [1, 10], "t_grok": [100, None], "epoch": 1000})
    return delay_against(points, name="1/β")


def lead(runs):
    table = pd.DataFrame({"run": ["r"], "arm": "a", "seed": 0, "t_mem": 100.0, "t_grok": 900.0})
    epochs = np.arange(0, 1001, 50)
    curve = {"D": 1 / (1 + np.exp((epochs - 400) / 40)), "test_loss": 1 / (1 + np.exp((epochs - 450) / 40))}
    return lead_of_attention(Results({}, table, pd.DataFrame({"run": "r", "epoch": epochs, **curve})))


@pytest.mark.parametrize(
    "draw", [figures.accuracy_and_divergence, figures.grokking_times, loss_before_grokking, delay, lead]
)
def test_a_picture_that_was_sent_looks_the_same(draw, runs):
    figure = draw(runs)
    sent = pickle.loads(pickle.dumps(figure))
    assert figures.to_png(sent) == figures.to_png(figure)


def test_panels_get_their_places_once(make, tmp_path, monkeypatch):
    placed = []
    execute = ConstrainedLayoutEngine.execute
    monkeypatch.setattr(
        ConstrainedLayoutEngine, "execute", lambda own, figure: placed.append(figure) or execute(own, figure)
    )
    figure = figures.grokking_times([make()])
    before = figure.axes[0].get_position().bounds
    figures.save(figure, tmp_path / "picture")
    assert placed == [figure]
    assert figure.axes[0].get_position().bounds != before


@pytest.mark.parametrize("pictures, cores, kind", [
    (MANY, 3, ProcessPoolExecutor), (MANY, 2, InlineExecutor), (MANY - 1, 64, InlineExecutor), (MANY, None, InlineExecutor),
])  # fmt: skip
def test_processes_are_for_many_pictures_and_cores(pictures, cores, kind, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    with executor_for(pictures) as executor:
        assert type(executor) is kind


def test_the_inline_executor_runs_at_once():
    done = []
    with InlineExecutor() as executor:
        result = executor.submit(lambda word: done.append(word) or len(word), "four")
        assert done == ["four"]
    assert result.result() == 4
    with pytest.raises(ZeroDivisionError):
        InlineExecutor().submit(lambda: 1 / 0)
