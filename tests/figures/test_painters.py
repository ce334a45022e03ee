"""Writing many pictures: whom it is left to, and that pictures can be sent to other processes."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ProcessPoolExecutor

import pandas as pd
import pytest
from matplotlib.layout_engine import ConstrainedLayoutEngine

from grokscope import figures
from grokscope.figures.painters import MANY, Here, painters
from grokscope.papers.structural_inference.figures.bump import loss_before_grokking
from grokscope.papers.structural_inference.figures.delay import delay_against
from grokscope.papers.structural_inference.figures.lead import lead_of_attention


def delay(runs):
    points = pd.DataFrame({"panel": "", "series": "a", "x": [1, 10], "t_grok": [100, None], "epoch": 1000})
    return delay_against(points, name="1/β")


def lead(runs):
    return lead_of_attention(pd.DataFrame({"arm": "a", "t_condensed": [100.0], "t_half": [300.0]}))


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
    (MANY, 3, ProcessPoolExecutor), (MANY, 2, Here), (MANY - 1, 64, Here), (MANY, None, Here),
])  # fmt: skip
def test_processes_are_for_many_pictures_and_cores(pictures, cores, kind, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    with painters(pictures) as hands:
        assert type(hands) is kind


def test_here_is_now():
    done = []
    with Here() as hands:
        result = hands.submit(lambda word: done.append(word) or len(word), "four")
        assert done == ["four"]
    assert result.result() == 4
    with pytest.raises(ZeroDivisionError):
        Here().submit(lambda: 1 / 0)
