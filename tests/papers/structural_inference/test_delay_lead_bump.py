"""Pictures of experiments: time against a number, what came first, and the loss before grokking."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from grokscope.papers.structural_inference.figures.bump import EARLIEST, loss_before_grokking
from grokscope.papers.structural_inference.figures.delay import delay_against
from grokscope.papers.structural_inference.figures.lead import lead_of_attention
from grokscope.papers.structural_inference.figures.lengths import accuracy_by_length
from grokscope.papers.structural_inference.figures.prediction import divergence_and_time
from grokscope.papers.structural_inference.figures.smoothing import logit_variance_and_entropy
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
    laws = {"left": {"slope": 100.0, "floor": 500.0}, "right": {}}
    figure = delay_against(points, name="1/β", laws=laws)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["left", "right"]
    assert sum(len(line.get_xdata()) for line in marks(figure, "grokked")) == 8
    (censored,) = [line for line in marks(figure, "censored") if len(line.get_xdata())]
    assert (list(censored.get_xdata()), list(censored.get_ydata())) == ([10], [5000])
    (law,) = marks(figure, "law")
    assert (law.get_ydata()[0], law.get_ydata()[-1]) == (600, pytest.approx(1500))
    assert legend(figure) == ["a", "b", "best fit of floor + c·x", "never grokked (censored)"]
    middle = marks(figure, "median")[-1]
    np.testing.assert_array_equal(middle.get_ydata(), [300, np.nan])


def test_delay_over_names_sets_series_apart(points):
    figure = delay_against(points.assign(x=(points["x"] == 10) * 1), name="q", ticks=["1", "10"])
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["1", "10"]
    places = [list(line.get_xdata()) for line in marks(figure, "median")]
    assert places == [pytest.approx(x) for x in ([-0.08, 0.92], [-0.08], [0.08, 1.08])]


def test_lead_draws_a_dot_per_locked_run_and_counts():
    epochs = np.arange(0, 1001, 5)
    lags = {"r0": 80, "r1": 40, "r2": 320, "r3": 0}
    rows = [{"run": run, "arm": "ab"[run == "r3"], "seed": 0, "t_mem": 100, "t_grok": 900} for run in lags]
    rows[-1]["t_grok"] = None
    curves = [
        pd.DataFrame({"epoch": epochs, "run": run, "D": fall(epochs, 400), "test_loss": fall(epochs, 400 + lag)})
        for run, lag in lags.items()
    ]
    figure = lead_of_attention(Results({}, pd.DataFrame(rows), pd.concat(curves)))
    (ax,) = figure.axes
    dots = [line for line in ax.lines if line.get_gid() == "D in nats"]
    assert sorted(dots[0].get_xdata()) == pytest.approx([0.05, 0.1], abs=0.005)  # the third is not locked
    assert len(dots[1].get_xdata()) == 0
    words = [text.get_text() for text in ax.texts]
    assert words[:2] == ["2 of 3", "0 of 0"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b"]


def fall(epochs, at):
    return 1 / (1 + np.exp((epochs - at) / 20))


def test_lengths_are_lines_from_that_of_training_on():
    rows = [
        (f"{arm}{seed}", arm, seed, epoch, length, epoch / 1000 - (length - 6) / 100)
        for arm in ("with", "without")
        for seed in (0, 1)
        for epoch in (500, 1000)
        for length in range(6, 13)
    ]
    table = pd.DataFrame(rows, columns=["run", "arm", "seed", "epoch", "length", "accuracy"])
    figure = accuracy_by_length(Results({}, pd.DataFrame(), pd.DataFrame(), {"lengths": table}))
    assert [ax.get_title(loc="left") for ax in figure.axes[:4]] == [
        "length 6 (trained)",
        "length 8",
        "length 10",
        "length 12",
    ]
    assert [ax.get_ylabel() for ax in figure.axes[::4]] == ["with", "without"]
    lines = [{line.get_gid(): list(line.get_ydata()) for line in ax.lines} for ax in figure.axes]
    assert [list(own) for own in lines] == [["length 6"], ["length 8"], ["length 10"], ["length 12"]] * 2
    assert lines[3]["length 12"] == pytest.approx([0.44, 0.94])


def test_prediction_has_a_dot_per_seed_and_marks_those_that_never_grokked():
    runs = pd.DataFrame(
        {"arm": ["a", "a", "b"], "D_mem": [0.1, 0.2, 0.3], "t_grok": [100, 200, None], "epoch": [200, 300, 500]}
    )
    figure = divergence_and_time(Results({}, runs, pd.DataFrame()))
    assert [len(line.get_xdata()) for line in marks(figure, "grokked")] == [2, 0]
    assert [list(line.get_ydata()) for line in marks(figure, "censored")] == [[], [500]]
    assert legend(figure) == ["never grokked (censored)"]


def test_smoothing_draws_variance_and_entropy_of_every_arm(make):
    def with_logits(run):
        metrics = run.metrics.assign(logit_variance=np.linspace(1, 2, len(run.metrics)), entropy=1.0)
        return type(run)(**{**vars(run), "metrics": metrics})

    figure = logit_variance_and_entropy([with_logits(make(arm, 0)) for arm in ("a", "b")])
    assert len(figure.axes) == 4
    assert legend(figure)


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
    assert set(np.round(line.get_ydata(), 6)) <= {round(v / lowest - 1, 6) for v in (0.1, 0.2, 0.5)}
    assert "1 of 2 runs grokked" in {text.get_text() for text in ax.texts}
    assert figure.legends[0].get_title().get_text() == "no run grokked: b"


def test_without_a_memorised_run_the_picture_of_divergences_says_so():
    runs = pd.DataFrame({"arm": ["q = 1"], "D_mem": [np.nan], "t_grok": [np.nan], "epoch": [60]})
    (ax,) = divergence_and_time(Results({}, runs, pd.DataFrame())).axes
    assert [text.get_text() for text in ax.texts] == ["no run has memorised"]
