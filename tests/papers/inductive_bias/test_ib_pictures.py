"""Pictures of the inductive-bias experiments: what is drawn where, and odd inputs."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from grokscope import figures
from grokscope.analysis.correlation import Correlation
from grokscope.papers.inductive_bias.figures.compressibility import compressibility_scatter
from grokscope.papers.inductive_bias.figures.factorial import times_in_panels
from grokscope.papers.inductive_bias.figures.movement import FEATURES, feature_movement
from grokscope.papers.inductive_bias.figures.shortcuts import entropy_and_shortcuts


def checkpoints(runs, **columns):
    """The same runs with a row at epochs 200, 400 … of made-up numbers."""
    table = pd.DataFrame({"epoch": np.arange(200, 1001, 200), **columns})
    return [replace(run, metrics=table) for run in runs]


@pytest.fixture
def logged(runs):
    return [replace(run, metrics=run.metrics.assign(entropy=np.linspace(1.6, 0.7, len(run.metrics)))) for run in runs]


@pytest.fixture
def kept(runs):
    return checkpoints(runs, operands=1.0, distractors=0.1, **{"one operand": 0.5, "single operand": 0.05})


@pytest.fixture
def moved(runs):
    start = {f"{what}_start": np.linspace(0.9, 0.2, 5) for what in FEATURES}
    return checkpoints(runs, test_accuracy=0.3, **start, **{f"{what}_moved": 0.05 for what in FEATURES})


@pytest.fixture
def points():
    families = [f"modulator {n}" for n in range(7)]
    rows = [{"modulator": name, "x": 10.0 - t, "y": t, "test_accuracy": t / 9} for name in families for t in range(10)]
    return pd.DataFrame(rows)


def drawn(figure, gid):
    return [line for ax in figure.axes for line in (*ax.lines, *ax.collections) if line.get_gid() == gid]


def test_entropy_stands_above_what_is_kept(logged, kept):
    figure = entropy_and_shortcuts(logged, kept)
    assert len(figure.axes) == 6
    above, below = figure.axes[0::2], figure.axes[1::2]
    assert [ax.get_title(loc="left") for ax in above] == ["no prior", "oracle", "adversarial"]
    assert above[0].get_ylim()[0] == 0
    assert above[0].get_ylim()[1] > 1.5
    assert below[0].get_ylabel() == "train accuracy"
    for name, value in (("operands", 1.0), ("distractors", 0.1), ("one operand", 0.5)):
        lines = drawn(figure, f"{name}, median of seeds")
        assert len(lines) == 3
        assert all((line.get_ydata() == value).all() for line in lines)


def test_movement_has_three_kinds_of_features_in_two_rows(moved):
    figure = feature_movement(moved)
    assert len(figure.axes) == 6
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "hidden layer",
        "pooled features",
        "embeddings",
        "test accuracy (upper panels)",
        "grokking",
    ]
    (first, *_) = drawn(figure, "hidden_start, median of seeds")
    np.testing.assert_allclose(first.get_ydata(), np.linspace(0.9, 0.2, 5))
    assert len(drawn(figure, "embedding_moved, median of seeds")) == 3


RISES, VARIES_NOT = Correlation(0.8, 0.6, 0.9, 70, 7), Correlation(np.nan, np.nan, np.nan, 70, 7)


def test_scatter_has_one_column_per_measure_with_its_correlations(points):
    found = {"x": {"all": RISES, "lr": VARIES_NOT}, "y": {"all": RISES, "lr": RISES}}
    figure = compressibility_scatter(points, {"x": "measure x", "y": "y"}, found)
    assert [ax.get_xlabel() for ax in figure.axes[:2]] == ["measure x", "y"]
    (cloud, _) = drawn(figure, "all")
    assert len(cloud.get_offsets()) == len(points)
    assert [label.get_text() for label in figure.axes[2].get_yticklabels()] == ["all", "lr"]
    assert [list(line.get_xdata()) for line in drawn(figure, "interval")] == [[0.6, 0.9]] * 3
    assert [text.get_text() for ax in figure.axes for text in ax.texts] == ["does not vary"]


def test_scatter_of_nothing_is_an_empty_panel(points):
    figure = compressibility_scatter(points[:0], {"x": "x"}, {"x": {"all": VARIES_NOT}})
    assert figures.to_svg(figure).rstrip().endswith("</svg>")


def test_times_go_into_panels_by_the_first_part_of_the_name(make):
    runs = [make(f"{panel}, {row}", seed, t) for panel in ("lr 1, wd 1", "lr 1, wd 2") for row, t in
            (("α = 1", 300), ("α = 10", None)) for seed in range(3)]  # fmt: skip
    figure = times_in_panels(runs)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["lr 1, wd 1", "lr 1, wd 2"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["α = 1", "α = 10"]
    assert [line.get_xdata()[0] for line in drawn(figure, "grokked")] == [300] * 6
    assert [line.get_xdata()[0] for line in drawn(figure, "censored")] == [1000] * 6
    assert [bar.get_segments()[0][0].tolist() for bar in drawn(figure, "median")] == [[300, -0.34]] * 2


def test_letters_are_never_smaller_than_seven_points(logged, kept, moved, points, runs):
    for figure in (
        entropy_and_shortcuts(logged, kept),
        feature_movement(moved),
        compressibility_scatter(points, {"x": "x"}, {"x": {"all": RISES}}),
        times_in_panels([replace(run, arm=f"all, {run.arm}") for run in runs]),
    ):
        sizes = [text.get_fontsize() for text in figure.findobj(mpl.text.Text) if text.get_text()]
        assert min(sizes) >= 7
        assert figure.get_figwidth() <= 7
        assert figures.to_svg(figure).rstrip().endswith("</svg>")
