"""Pictures of experiments: time against a number, what came first, and the loss before grokking."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from grokscope.papers.structural_inference.figures.bump import EARLIEST, loss_before_grokking
from grokscope.papers.structural_inference.figures.delay import delay_against
from grokscope.papers.structural_inference.figures.lead import lead_of_attention
from grokscope.store.results import Results


def marks(figure, gid):
    return [line for ax in figure.axes for line in ax.lines if line.get_gid() == gid]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.fixture
def points():
    rows = [("left", "a", x, 100.0 * x, 5000) for x in (1, 10) for _ in range(3)]
    rows += [("right", "a", 1, 200.0, 5000), ("right", "b", 10, None, 5000), ("right", "b", 1, 300.0, 5000)]
    return pd.DataFrame(rows, columns=["panel", "series", "x", "t_grok", "epoch"])


def test_delay_shows_every_run_and_the_law(points):
    laws = {"left": {"start": 0.0, "slope": 100.0, "floor": 500.0}, "right": {"never": 1}}
    figure = delay_against(points, name="1/β", laws=laws)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["left", "right"]
    assert sum(len(line.get_xdata()) for line in marks(figure, "grokked")) == 8
    (censored,) = [line for line in marks(figure, "censored") if len(line.get_xdata())]
    assert (list(censored.get_xdata()), list(censored.get_ydata())) == ([10], [5000])
    (law,) = marks(figure, "law")
    assert (law.get_ydata()[0], law.get_ydata()[-1]) == (500, pytest.approx(1000))
    assert legend(figure) == ["a", "b", "best fit of max(floor, a + b·x)", "never grokked (censored)"]
    middle = marks(figure, "median")[-1]
    np.testing.assert_array_equal(middle.get_ydata(), [300, np.nan])


def test_delay_over_names_sets_series_apart(points):
    figure = delay_against(points.assign(x=(points["x"] == 10) * 1), name="q", ticks=["1", "10"])
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["1", "10"]
    places = [list(line.get_xdata()) for line in marks(figure, "median")]
    assert places == [pytest.approx(x) for x in ([-0.08, 0.92], [-0.08], [0.08, 1.08])]


def test_lead_draws_one_line_per_run_and_counts():
    runs = pd.DataFrame(
        {
            "arm": ["a", "a", "a", "b"],
            "t_condensed": [100.0, 400.0, np.nan, np.nan],
            "t_half": [300.0, 350.0, np.nan, np.nan],
        }
    )
    figure = lead_of_attention(Results({}, runs, pd.DataFrame()))
    left, right = figure.axes
    words = {text.get_text() for ax in figure.axes for text in ax.texts}
    assert {"1 of 2", "none of 1 runs generalised"} <= words
    leads = [line.get_xdata()[0] for line in right.lines if line.get_marker() == "D"]
    assert leads == [200, -50]
    colours = {line.get_color() for line in left.lines if line.get_marker() == "o"}
    assert len(colours) == 2  # accuracy first has a colour of its own


def test_the_loss_is_shown_over_its_minimum(make):
    def with_loss(run):
        epoch = run.metrics["epoch"].to_numpy()
        return run.metrics.assign(train_loss=np.where(epoch < 300, 0.2, np.where(epoch < 350, 0.1, 0.5)))

    runs = [make("a", 0), make("a", 1, None), make("b", 0, None)]
    runs = [type(run)(**{**vars(run), "metrics": with_loss(run)}) for run in runs]
    figure = loss_before_grokking(runs)
    (ax,) = figure.axes
    (line,) = [line for line in ax.lines if len(line.get_xdata()) > 2]
    assert line.get_xdata().min() >= EARLIEST
    lowest = with_loss(runs[0]).query("50 <= epoch <= 400")["train_loss"].min()
    assert set(np.round(line.get_ydata(), 6)) <= {round(v / lowest, 6) for v in (0.1, 0.2, 0.5)}
    assert "1 of 2 runs grokked" in {text.get_text() for text in ax.texts}
    assert legend(figure)[-1] == "no run grokked: b"
