"""Pictures that were hard to read: single points, zeros on a log axis, curves on each other, legends without handles, titles."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from grokscope import figures
from grokscope.experiments.base import all_experiments
from grokscope.experiments.drawing import drawn_pictures
from grokscope.figures.curves import END, OTHER_ARMS
from grokscope.figures.data import FRACTIONS
from grokscope.figures.movie import _draw_accuracy
from grokscope.figures.panels import legend
from grokscope.figures.registry import summary
from grokscope.figures.style import our_style
from grokscope.papers.grokking_tickets.figures.structure import ORDER, _along
from grokscope.report.charts import chart_of
from grokscope.store.results import Results, load_results

RESULTS = Path(__file__).parents[2] / "results"


def drawn(name: str, *pictures: str) -> dict[str, Figure]:
    experiment, results = all_experiments()[name], load_results(RESULTS, name, "full")
    chosen = {key: own for key, own in experiment.pictures.items() if key in pictures}
    return {picture.file: picture.figure for picture in drawn_pictures(replace(experiment, pictures=chosen), results)}


def once(run, epoch=1):
    """The run after one evaluation beside that at its start."""
    table = run.metrics[run.metrics["epoch"] <= epoch]
    return replace(run, metrics=table, phases=(), t_mem=None, t_grok=None)


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize(
    "draw",
    [figures.accuracy_and_divergence, figures.mlp_norm, figures.gradient_under_bound, figures.train_and_test],
    ids=lambda draw: draw.__name__,
)
def test_one_evaluation_is_seen(draw, seeds, make):
    figure = draw([once(make(seed=seed)) for seed in range(seeds)])
    for ax in figure.axes:
        low, high = ax.get_xlim()
        assert low < 1 < high
        points = [line for line in ax.lines if np.isfinite(line.get_ydata()).sum() == 1]
        assert points and any(line.get_marker() == "o" for line in points)


def test_attention_of_one_evaluation_is_a_bar(make):
    figure = figures.attention_mass([once(make())])
    assert all(np.ptp(area.get_paths()[0].vertices[:, 0]) > 0 for area in figure.axes[0].collections)


def test_a_run_of_one_evaluation_is_a_dot_in_a_chart(make):
    from grokscope.pages import chart_svg

    chart, *_ = chart_of("mlp-norm", [make("no prior"), once(make("oracle"))])
    assert "<circle" in chart_svg(chart)


def test_a_divergence_that_ends_at_zero_is_told(make):
    def clamped(run, since):
        return replace(run, metrics=run.metrics.assign(D=run.metrics["D"].where(run.metrics["epoch"] < since, 0.0)))

    runs = [make("as it was"), clamped(make("structure"), 200), clamped(make("frozen"), 0)]
    figure = figures.accuracy_and_divergence(runs)
    said = [" ".join(text.get_text() for text in ax.texts if "D = 0" in text.get_text()) for ax in figure.axes]
    assert [words.replace("\n", " ") for words in said if words] == ["then D = 0", "D = 0 throughout"]


def test_a_long_line_below_a_title_leaves_the_panels_their_width(make):
    """`0 of 20 grokked by epoch 1,000, 20 diverged` in one line would make all panels narrower."""
    others = [make(arm, seed=seed) for arm in ("no prior", "oracle") for seed in range(20)]
    widths = []
    for how in ({}, {"t_grok": None, "status": "diverged"}):
        figure = figures.accuracy_and_divergence([*others, *(make("SGD", seed=seed, **how) for seed in range(20))])
        figure.draw_without_rendering()
        last = next(ax for ax in figure.axes if ax.get_title(loc="left") == "SGD")
        widths.append(last.get_position().width)
    assert widths[1] == pytest.approx(widths[0], rel=0.03)
    (said,) = [text for text in last.texts if "diverged" in text.get_text()]
    assert said.get_text().replace("\n", " ") == "0 of 20 grokked by epoch 1,000, 20 diverged"
    (title,) = [text for text in last.findobj(Text) if text.get_text() == "SGD"]
    assert title.get_window_extent().y0 >= said.get_window_extent().y1 - 1


def test_a_legend_of_uneven_columns_stays_within_the_figure():
    """matplotlib makes two columns of five entries three and two long, however many a column was meant to hold."""
    with our_style():
        figure = Figure(figsize=(3.4, 3))
        ax = figure.add_subplot()
        names = ("entropy", "as trained", "every MLP input has the mean norm", "every MLP input has norm 1", "grokking")
        legend(figure, [(ax.plot([0, 1])[0], name) for name in names])
        figure.draw_without_rendering()
    (drawn,) = figure.legends
    box = drawn.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1


def test_names_in_a_movie_stand_between_the_curves_or_in_a_legend(make):
    """A ticket has no plateau: its curves are close together, and names there would lie on them."""
    ticket = replace(make(), t_mem=400)
    ticket = replace(ticket, metrics=ticket.metrics.assign(test_accuracy=ticket.metrics["train_accuracy"]))
    for run, inside in ((make(), ["training", "test"]), (ticket, [])):
        ax = Figure().add_subplot()
        _draw_accuracy(ax, run, 1000)
        beside = [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else []
        assert [text.get_text() for text in ax.texts] == inside
        assert inside + beside == ["training", "test"]


def test_names_at_the_ends_stand_where_the_lines_end():
    (figure,) = [own for file, own in drawn("gt-fig2d-authors", "accuracy").items() if "400" in file]
    _, test = figure.axes
    assert test.get_ylim() == FRACTIONS
    ends = {line.get_label(): line.get_ydata()[-1] for line in test.lines if line.get_label() in ("dense", "ticket")}
    names = {text.get_text(): text for text in test.texts if text.get_gid() == END}
    assert set(names) == {"dense", "ticket"}
    low, high = FRACTIONS
    for name, text in names.items():
        assert text.get_position()[1] == pytest.approx((ends[name] - low) / (high - low), abs=0.01)
    assert not {entry.get_text() for entry in figure.legends[0].get_texts()} & set(names)


def test_arms_apart_have_a_panel_each_and_the_others_in_grey(make):
    arms = ("dense", "grokking ticket", "dense, L1 norm", "dense, L2 norm")
    figure = figures.norms_over_time([make(arm, seed) for arm in arms for seed in range(3)], apart=True)
    assert len(figure.axes) == 2 * len(arms)
    for ax in figure.axes:
        grey = [line for line in ax.lines if line.get_color() == OTHER_ARMS]
        assert len(grey) == len(arms) - 1
        assert len(ax.collections) == 1  # one band


def test_numbers_that_are_close_stand_at_equal_distances():
    (figure,) = drawn("gt-fig16", "times").values()
    for ax in figure.axes:
        (medians, *_) = [line.get_xdata() for line in ax.lines if line.get_gid() == "median"]
        assert list(np.diff(medians)) == [1] * (len(medians) - 1)
        assert [label.get_text() for label in ax.get_xticklabels()][:4] == ["0", "0.6", "0.7", "0.8"]


@pytest.mark.parametrize(("name", "picture"), [("gt-fig2d", "structure"), ("si-critics-bump", "loss")])
def test_every_entry_of_a_legend_has_a_handle(name, picture):
    (figure,) = drawn(name, picture).values()
    (legend,) = figure.legends
    for handle in legend.legend_handles:
        assert handle.get_linestyle() != "None" or handle.get_marker() not in ("None", "")
    assert legend.get_title().get_text()  # what is not drawn


def test_ten_percent_above_the_minimum_can_be_seen():
    (figure,) = drawn("si-critics-bump", "loss").values()
    for ax in (ax for ax in figure.axes if ax.get_visible()):
        low, high = np.log(ax.get_ylim())
        assert 0.1 < (np.log(0.1) - low) / (high - low) < 0.9


def test_a_panel_of_lengths_holds_one_range():
    (figure,) = drawn("si-fig8", "lengths").values()
    assert all(len(ax.collections) == 1 and len(ax.lines) == 1 for ax in figure.axes)


def test_pictures_with_one_figure_are_told_apart_without_repetition():
    titles = {}
    for name in ("gt-fig3", "gt-fig2a", "ib-placement"):
        results = load_results(RESULTS, name, "full")
        titles[name] = {own.name: own.title for own in drawn_pictures(all_experiments()[name], results)}
    assert titles["gt-fig3"]["ratio"] == "Memorising, generalising, and their ratio"
    assert titles["gt-fig3"]["ratio-global"] == "Memorising, generalising, and their ratio: global"
    assert titles["gt-fig2a"]["loss"] == "Training and test: loss"
    assert titles["ib-placement"]["entropy-and-shortcuts"] == "Attention entropy and shortcuts"
    assert titles["ib-placement"]["entropy-and-shortcuts-with-rms-norm"].endswith("shortcuts: with RMS norm")


def test_the_caption_of_training_and_test_holds_for_one_panel():
    assert "above" not in summary(figures.train_and_test)


def test_matrices_stand_in_the_order_of_the_network():
    shuffled = ["W_K", "W_out", "W_E", "W_U", "W_pos", "W_V", "W_in", "W_Q"]
    assert sorted(shuffled, key=_along) == ["W_E", "W_pos", "W_Q", "W_K", "W_V", "W_in", "W_out", "W_U"]
    assert all(_along(a) < _along(b) for a, b in pairwise(ORDER))


def test_positions_have_their_names():
    table = pd.DataFrame(
        [
            {"run": "r", "arm": "x", "seed": 0, "epoch": e, "head": 0, "position": j, "mass": 0.25, "name": name}
            for e in (1, 10)
            for j, name in enumerate("ab·=")
        ]
    )
    results = Results({}, pd.DataFrame(), pd.DataFrame(), {"attention-map": table})
    ax, *_ = figures.figures.get("attention-map")(results).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == list("ab·=")
    plain, *_ = figures.figures.get("attention-map")(
        results._replace(probes={"attention-map": table.drop(columns="name")})
    ).axes
    assert not re.search("[a-z]", "".join(label.get_text() for label in plain.get_yticklabels()))
