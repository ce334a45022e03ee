"""Charts, their still pictures, and the numbers of figures."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from grokscope.figures import RunCurves, figures
from grokscope.pages import chart_svg, figure_data
from grokscope.pages.chart import rounded
from grokscope.pages.chart_svg import linear_ticks, log_ticks, short_number
from grokscope.report.charts import POINTS, chart_of, common_epochs


def run(arm="a", seed=0, shift=0.0, last=400, **given):
    epoch = np.arange(0, last + 1, 10)
    table = {
        "epoch": epoch,
        "train_accuracy": 1.0,
        "test_accuracy": np.clip(epoch / 400 + shift, 0, 1),
        "mlp_norm": 3.0,
    }
    values = {"t_grok": 300, "phases": [("memorisation", 0, 50), ("plateau", 50, 300), ("grokking", 300, None)]}
    return RunCurves(arm=arm, seed=seed, metrics=pd.DataFrame(table | given), **values)


def test_a_chart_has_the_median_and_the_middle_half_of_the_seeds():
    chart, caption, _ = chart_of("accuracy", [run(seed=s, shift=0.1 * s) for s in range(3)])
    (panel,) = chart.panels  # no run recorded D
    train, test = panel.lines
    assert (train.minor, test.minor) == (True, False)
    at = list(chart.x).index(200)
    assert (test.low[at], test.y[at], test.high[at]) == pytest.approx((0.55, 0.6, 0.65))
    assert chart.strips[0].phases[-1] == ("grokking", 300.0, 400.0)
    assert "phases" in caption
    plain = json.loads(json.dumps(chart.to_dict(), allow_nan=False))
    assert plain["panels"][0]["lines"][1]["y"][at] == 0.6
    assert [phase["name"] for phase in plain["phases"]] == ["memorisation", "plateau", "grokking"]


def test_regression_is_measured_by_r_squared():
    chart, *_ = chart_of("train-test", [replace(run(), score="R²")])
    plain = chart.to_dict()["panels"][0]
    assert (plain["label"], plain["percent"], plain["fraction"]) == ("R²", False, True)
    assert ">0.25<" in chart_svg(chart) and "%" not in chart_svg(chart)
    assert chart_of("train-test", [run()]).chart.panels[0].label == "accuracy"
    both = chart_of("train-test", [run(), replace(run("b"), score="R²")]).chart
    assert both.panels[0].label == "accuracy or R²"


def test_divergence_is_explained_only_where_it_is_drawn():
    assert chart_of("accuracy", [run(D=0.5)]).title == "" and "D measures" in chart_of("accuracy", [run(D=0.5)]).caption
    without = chart_of("accuracy", [run()])
    assert without.title == "Training and test" and "D" not in without.caption


def test_one_or_two_runs_are_drawn_as_they_are():
    chart, *_ = chart_of("mlp-norm", [run(seed=0), run(seed=1, last=200), run("b")])
    assert [(line.arm, line.seed) for line in chart.panels[0].lines] == [("a", 0), ("a", 1), ("b", None)]
    assert all(line.low is None for line in chart.panels[0].lines)
    assert np.isnan(chart.panels[0].lines[1].y[-1])  # it ended at epoch 200
    assert chart.to_dict()["panels"][0]["lines"][1]["y"][-1] is None


def test_of_many_arms_only_the_medians_are_drawn():
    chart, *_ = chart_of("accuracy", [run(f"arm {n}", seed, 0.1 * seed) for n in range(9) for seed in range(3)])
    assert len(chart.arms) == 9 and not chart.strips
    assert all(line.low is None for line in chart.panels[0].lines)


def test_arms_that_share_a_colour_differ_in_their_dashes():
    chart, *_ = chart_of("mlp-norm", [run(name) for name in "abcdefgh"])
    assert len({(colour, tuple(dashes)) for _, colour, dashes in chart.arms}) == 8
    alone, *_ = chart_of("mlp-norm", [run("no prior"), run("oracle")])
    assert [dashes for *_, dashes in alone.arms] == [(), ()]
    assert "stroke-dasharray" in chart_svg(chart) and "stroke-dasharray" not in chart_svg(alone)


def test_figures_without_a_chart():
    assert chart_of("times", [run()]) is None
    assert chart_of("accuracy", [run(last=10)]) is None  # one epoch on a log axis


def test_long_runs_are_thinned_evenly_over_a_log_axis():
    epochs = common_epochs([run(last=100_000)])
    assert len(epochs) <= POINTS and (epochs[0], epochs[-1]) == (10, 100_000)
    assert np.diff(np.log(epochs))[50:].max() < 0.15


def test_the_still_picture_shows_the_same_and_escapes_names():
    chart, *_ = chart_of(
        "accuracy", [run("<b> & c", seed=s, shift=0.1 * s, D=np.linspace(2, 0.1, 41)) for s in range(3)]
    )
    root = ET.fromstring(chart_svg(chart))
    texts = [text.text for text in root.iter("text")]
    assert {"<b> & c", "train", "test", "epoch", "100 %", "middle half of seeds", "plateau"} <= set(texts)
    assert texts.count("epoch") == 1
    assert all(c not in chart_svg(chart) for c in ("nan", "inf"))


def test_ticks():
    assert log_ticks(10, 1000, 9) == [10, 20, 50, 100, 200, 500, 1000]
    assert log_ticks(10, 10_000, 9) == [10, 30, 100, 300, 1000, 3000, 10_000]
    assert log_ticks(1, 1e6, 9) == [1, 10, 100, 1000, 1e4, 1e5, 1e6]
    assert linear_ticks(0, 1.03) == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert [short_number(x) for x in (0.5, 2000, 1e6, 1e-4, 3e-5)] == ["0.5", "2k", "1M", "10⁻⁴", "3·10⁻⁵"]
    assert rounded(np.array([1.0, 0.123456, np.nan, 123456.0, -2.5e-7]), 4) == [1, 0.1235, None, 123500, -2.5e-7]


def test_numbers_of_a_figure_by_panel_and_series():
    runs = [run("first", seed, 0.1 * seed) for seed in range(3)]
    found = {(s["panel"], s["series"]): s for s in figure_data(figures.get("accuracy")(runs))}
    test = found["first", "test"]
    assert test["x label"] == "epoch" and test["y label"].startswith("accuracy")
    assert test["y"][test["x"].index(200)] == 0.6
    band = found["first", "test, middle half of seeds"]
    assert (band["low"][band["x"].index(200)], band["high"][band["x"].index(200)]) == (0.55, 0.65)
    assert ("first", "seed") in found
    times = figure_data(figures.get("times")(runs))
    (dots,) = [s for s in times if s["series"] == "grokked"]
    assert dots["x"] == [300, 300, 300] and set(dots["y"]) == {"first"}
