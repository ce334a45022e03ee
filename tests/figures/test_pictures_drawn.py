"""Each picture: its panels, labels and marks, and the odd inputs it must survive."""

from __future__ import annotations

import re
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from grokscope import figures
from grokscope.errors import ConfigError
from grokscope.figures.accuracy import accuracy_overlay
from grokscope.figures.style import TRAIN_COLOUR
from grokscope.papers.grokking_tickets.figures.fourier import fourier_entropy_over_time

ALL = [
    figures.accuracy_and_divergence,
    figures.gradient_under_bound,
    figures.attention_mass,
    figures.mlp_norm,
    figures.grokking_times,
    figures.train_and_test,
    figures.norms_over_time,
    fourier_entropy_over_time,
    accuracy_overlay,
]
PANEL_AN_ARM = [figures.accuracy_and_divergence, figures.gradient_under_bound, figures.attention_mass]
every_picture = pytest.mark.parametrize("draw", ALL, ids=lambda draw: draw.__name__)


def marks(figure: Figure, gid: str) -> list:
    return [a for ax in figure.axes for a in (*ax.lines, *ax.collections) if a.get_gid() == gid]


def words(figure: Figure) -> str:
    return " | ".join(text.get_text() for ax in figure.axes for text in ax.texts)


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_accuracy_marks_where_runs_branched(runs):
    assert "branch" not in legend(figures.accuracy_and_divergence(runs))
    branches = [replace(run, branched=100) if run.arm == "oracle" else run for run in runs]
    figure = figures.accuracy_and_divergence(branches)
    assert [line.get_xdata()[0] for line in marks(figure, "branched")] == [100, 100]
    assert marks(figure, "branched")[0].axes.get_title(loc="left") == "oracle"
    assert "branch" in legend(figure)


def test_accuracy_has_two_rows_of_panels_that_share_scales(runs):
    figure = figures.accuracy_and_divergence(runs)
    assert len(figure.axes) == 6
    above, below = figure.axes[0::2], figure.axes[1::2]
    assert [ax.get_title(loc="left") for ax in above] == ["no prior", "oracle", "adversarial"]
    assert [ax.get_ylabel() for ax in (above[0], below[0])] == ["accuracy (fraction)", "D = KL(α*‖α) (nats)"]
    assert {ax.get_xlabel() for ax in below} == {"epoch"}
    assert {ax.get_xscale() for ax in figure.axes} == {"log"}
    assert len({ax.get_ylim() for ax in above}) == len({ax.get_ylim() for ax in below}) == 1
    for ax in above:
        lines = {line.get_label(): line for line in ax.lines}
        assert {"train", "test"} <= set(lines)
        assert len([line for line in ax.lines if line.get_linewidth() == 0.5]) == 6


def test_accuracy_marks_phases_and_grokking_of_the_middle_seed(runs):
    figure = figures.accuracy_and_divergence(runs)
    assert legend(figure)[-3:] == ["1 memorisation", "2 plateau", "4 grokking"]
    below = figure.axes[1]
    edges = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in below.patches]
    assert edges == [(1, 50), (50, 650), (650, 1000)]
    assert [line.get_xdata()[0] for line in marks(figure, "t_grok")] == [650, 650, 250, 250]
    assert [list(line.get_xdata()) for line in marks(figure, "seeds")] == [[600, 650, 700], [200, 250, 300]]
    assert words(figure).count("0 of 3 grokked by epoch 1,000") == 1


def test_never_is_not_said_in_a_picture_of_runs_that_are_merely_stopped(make):
    runs = [make(seed=0, t_grok=None), make(seed=1, t_grok=None, status="stopped")]
    said = words(figures.accuracy_and_divergence(runs))
    assert "never" not in said
    assert "0 of 2 grokked by epoch 1,000, 1 stopped" in said
    assert "never" not in " ".join(legend(figures.grokking_times(runs)))


def test_the_picture_of_times_says_by_which_criterion(make):
    said = "test accuracy ≥ 99 %, held 100 epochs"
    runs = [make(seed=seed, criterion=said) for seed in range(2)]
    (ax,) = figures.grokking_times(runs).axes
    assert ax.get_xlabel() == f"epoch of grokking ({said})"


def test_gradient_lies_under_both_bounds(runs):
    figure = figures.gradient_under_bound(runs)
    assert len(figure.axes) == 6
    ax = figure.axes[0]
    assert ax.get_yscale() == ax.get_xscale() == "log"
    assert ax.get_ylabel() == "largest |∂CE/∂ℓⱼ| (nats)"
    lines = {line.get_label(): line for line in ax.lines}
    measured, tight, closed = (
        lines[name].get_ydata() for name in ("measured", "bound, tight form", "bound, closed form")
    )
    assert (measured < tight).all()
    assert (tight < closed).all()
    assert "largest measured / tight bound: 0.071" in words(figure)
    assert [line.get_xdata()[0] for line in marks(figure, "t_mem")] == [50] * 6


def test_gradient_without_the_gradient_on_the_matrix_is_one_row(runs):
    bare = [replace(run, metrics=run.metrics.drop(columns="grad_M")) for run in runs]
    assert len(figures.gradient_under_bound(bare).axes) == 3


def test_accuracy_without_divergence_is_one_row(runs):
    bare = [replace(run, metrics=run.metrics.drop(columns="D")) for run in runs]
    assert len(figures.accuracy_and_divergence(bare).axes) == 3


def test_divergence_that_is_zero_throughout_is_said_in_words(runs):
    frozen = [replace(run, metrics=run.metrics.assign(D=0.0) if run.arm == "oracle" else run.metrics) for run in runs]
    said = [[text.get_text() for text in ax.texts] for ax in figures.accuracy_and_divergence(frozen).axes[1::2]]
    assert said == [[], ["D = 0 throughout"], []]


def test_a_band_down_to_zero_leaves_a_log_axis(make):
    """A band without the corners below 0 would be another shape."""
    runs = [make("clamped", seed=seed) for seed in range(4)]
    clamped = [
        replace(run, metrics=run.metrics.assign(D=run.metrics["D"].where(run.metrics["epoch"] < 100, 0.0)))
        for run in runs
    ]
    ax = figures.accuracy_and_divergence(clamped).axes[1]
    (band,) = (one for one in ax.collections if "half" in (one.get_gid() or ""))
    heights = np.concatenate([path.vertices[:, 1] for path in band.get_paths()])
    assert ax.get_yscale() == "log" and 0 < heights.min() < ax.get_ylim()[0] / 100
    assert ax.get_ylim()[0] > clamped[0].metrics["D"].max() / 1e4  # it does not stretch the axis


def test_many_arms_share_the_axes_of_accuracy_and_divergence(make):
    runs = [make("no prior"), *(make(f"β = {n}", t_grok=100 + n) for n in range(1, 9))]
    *shown, bar = accuracy_overlay(runs).axes
    assert [ax.get_ylabel().partition("\n")[0] for ax in shown] == ["training", "test accuracy", "D = KL(α*‖α)"]
    assert bar.get_ylabel() == "β"
    assert [len([line for line in ax.lines if line.get_gid() != "grokking"]) for ax in shown] == [9] * 3
    assert shown[2].get_yscale() == "log"
    bare = [replace(run, metrics=run.metrics.drop(columns="D")) for run in runs]
    assert len(accuracy_overlay(bare).axes) == 3


def test_attention_stack_adds_up_and_names_positions(runs):
    figure = figures.attention_mass(runs)
    assert len(figure.axes) == 3
    assert figure.axes[0].get_ylabel() == "attention mass (fraction)"
    assert legend(figure) == ["a", "b", "= (query)", "distractors", "grokking"]
    areas = figure.axes[0].collections
    assert len(areas) == 4
    assert areas[-1].get_paths()[0].vertices[:, 1].max() == pytest.approx(1)


def test_the_legend_names_the_phases_that_are_shaded(make):
    shaded = make(t_grok=None, phases=[("memorisation", 0, 50)])
    other = make(t_grok=None, seed=1, phases=[("memorisation", 0, 50), ("plateau", 50, 1000)])
    assert [name for name in legend(figures.accuracy_and_divergence([shaded, other])) if name[0].isdecimal()] == [
        "1 memorisation"
    ]


def test_a_network_without_attention_has_no_panel_of_it(make):
    without = make(arm="lstm")
    without = replace(without, metrics=without.metrics.drop(columns=without.attention_columns()))
    figure = figures.attention_mass([without, make(arm="transformer")])
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["transformer"]


def test_attention_of_longer_test_sequences_counts_back_from_the_query(make):
    figure = figures.attention_mass([make(length=6)])
    assert len(figure.axes[0].collections) == 6
    assert legend(figure)[:4] == ["a", "b", "= (query)", "distractors"]


def test_attention_with_informative_positions_that_vary_shows_every_position(make):
    figure = figures.attention_mass([replace(make(), positions=(), informative=())])
    assert legend(figure) == ["position 0", "position 1", "position 2", "position 3", "grokking"]


def test_norm_has_all_arms_and_a_dot_where_the_middle_run_grokked(runs):
    figure = figures.mlp_norm(runs)
    (ax,) = figure.axes
    assert ax.get_ylabel() == "MLP norm ‖θ‖ (Frobenius)"
    assert legend(figure) == ["no prior", "oracle", "adversarial", "middle half of seeds", "middle seed groks"]
    dots = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o" and len(line.get_xdata())]
    assert dots == [650, 250]


def test_times_show_every_seed_and_the_censored_ones_hollow(runs):
    figure = figures.grokking_times(runs)
    (ax,) = figure.axes
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "epoch of grokking"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["no prior", "oracle", "adversarial"]
    assert [line.get_xdata()[0] for line in marks(figure, "grokked")] == [600, 650, 700, 200, 250, 300]
    censored = marks(figure, "censored")
    assert [(line.get_xdata()[0], line.get_marker(), line.get_markerfacecolor()) for line in censored] == [
        (1000, ">", "none")
    ] * 3
    assert [bar.get_segments()[0][0][0] for bar in marks(figure, "median")] == [650, 250]
    assert "3 of 3 | 3 of 3 | 0 of 3" in words(figure)
    assert "not grokked by its last epoch (censored)" in legend(figure)


def test_times_of_runs_that_all_failed_say_so(make):
    (ax,) = figures.grokking_times([make(seed=seed, t_grok=None) for seed in range(4)]).axes
    assert ax.get_title(loc="left") == "none of 4 runs grokked"
    (ax,) = figures.grokking_times([make(seed=0), make(seed=1, t_grok=None)]).axes
    assert not ax.get_title(loc="left")


def test_times_take_medians_as_given(runs):
    figure = figures.grokking_times(runs, {"no prior": 610.0, "oracle": None})
    assert [bar.get_segments()[0][0][0] for bar in marks(figure, "median")] == [610]


@every_picture
def test_same_input_gives_the_same_bytes(draw, make):
    run = make(t_grok=20, last=30)
    first, second = figures.to_svg(draw([run])), figures.to_svg(draw([run]))
    assert first == second
    assert first.startswith("<?xml")
    assert "<dc:date>" not in first


@every_picture
def test_a_single_run_that_never_groks_with_gaps(draw, make):
    """Rendering is part of the check: warnings are errors here, and layout and ticks happen only then."""
    run = make(t_grok=None, last=60, phases=(), t_mem=None)
    holed = run.metrics.copy()
    holed.loc[5:9, holed.columns != "epoch"] = np.nan
    holed.loc[20:, holed.columns != "epoch"] = np.inf
    svg = figures.to_svg(draw([replace(run, metrics=holed)]))
    assert svg.rstrip().endswith("</svg>")


@every_picture
def test_letters_are_never_smaller_than_seven_points(draw, runs):
    figure = draw(runs[::3])
    sizes = [text.get_fontsize() for text in figure.findobj(mpl.text.Text) if text.get_text()]
    assert min(sizes) >= 7
    assert figure.get_figwidth() <= 7


@every_picture
def test_no_runs_at_all(draw):
    with pytest.raises(ConfigError, match="no runs to draw"):
        draw([])


@pytest.mark.parametrize(
    ("draw", "column"),
    [
        (figures.accuracy_and_divergence, "test_accuracy"),
        (figures.gradient_under_bound, "grad_logit"),
        (figures.attention_mass, "attention_0"),
        (figures.mlp_norm, "mlp_norm"),
        (figures.train_and_test, "test_accuracy"),
        (figures.norms_over_time, "l2"),
        (fourier_entropy_over_time, "fourier_entropy_in"),
    ],
)
def test_an_empty_picture_is_refused(draw, column, make):
    run = make()
    with pytest.raises(ConfigError, match=column):
        draw([replace(run, metrics=run.metrics.drop(columns=column))])


def test_many_arms_go_on_below_in_distinct_colours(make):
    runs = [make(f"β = {n}", t_grok=100 + n) for n in range(9)]
    figure = figures.accuracy_and_divergence(runs)
    assert len(figure.axes) == 18
    assert figure.get_figwidth() == 7
    colours = figures.arm_colours([run.arm for run in runs])
    assert len(set(colours.values())) == 9


def test_many_arms_without_an_order_get_a_panel_each(make):
    kinds = [f"kind {letter}" for letter in "abcdefghi"]
    figure = figures.train_and_test([make(kind, seed=s) for kind in kinds for s in range(3)])
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert [ax.get_title("left") for ax in shown] == kinds
    colours = figures.arm_colours(kinds)
    assert [{line.get_color() for line in ax.get_lines()} for ax in shown] == [
        {TRAIN_COLOUR, colours[kind]} for kind in kinds
    ]


@pytest.mark.parametrize(("arms", "bands"), [(4, 4), (5, 0)])
def test_of_many_arms_in_one_panel_only_medians_are_drawn(arms, bands, make):
    figure = figures.train_and_test([make(f"β = {n}", seed=s) for n in range(arms) for s in range(3)])
    for ax in figure.axes:
        assert len([line for line in ax.get_lines() if line.get_gid() != "grokking"]) == arms
        assert len(ax.collections) == bands


@pytest.mark.parametrize("arms", [3, 11])
@pytest.mark.parametrize("draw", [draw for draw in ALL if draw not in PANEL_AN_ARM], ids=lambda draw: draw.__name__)
def test_long_names_stay_inside_the_picture(draw, arms, make):
    figure = draw([make(f"norm-matched {n}, adversarial, with a penalty on W_Q and W_K") for n in range(arms)])
    FigureCanvasAgg(figure).draw()  # lays everything out
    width, height = figure.get_size_inches() * figure.dpi
    texts = [text for text in figure.findobj(mpl.text.Text) if text.get_visible()]
    names = [text for text in texts if "norm-matched" in text.get_text()]
    boxes = [artist.get_window_extent() for artist in (*figure.legends, *names)]
    assert len(names) == arms
    assert min(box.x0 for box in boxes) >= 0
    assert min(box.y0 for box in boxes) >= 0
    assert max(box.x1 for box in boxes) <= width
    assert max(box.y1 for box in boxes) <= height


def test_save_writes_both_files_and_leaves_settings_alone(make, tmp_path):
    before = dict(mpl.rcParams)
    svg, png = figures.save(figures.mlp_norm([make()]), tmp_path / "deep" / "norm.v1")
    assert (svg.name, png.name) == ("norm.v1.svg", "norm.v1.png")
    assert re.search(r"<svg [^>]*viewBox", svg.read_text(encoding="utf-8"))
    assert png.read_bytes().startswith(b"\x89PNG")
    assert dict(mpl.rcParams) == before


def test_labels_of_one_decade_do_not_crowd(runs):
    """From 0.15 to 3: 0.2, 0.5, 1 and 2 are labelled, and only in the first column."""
    from grokscope.figures.panels import log_values, panels

    figure, axes = panels(runs, {"D": 1.0})
    for ax in axes[0]:
        ax.plot([1, 100], [0.15, 3.0])
    log_values(axes[0, 0])
    axes[0, 0].set_ylim(0.15, 3.0)
    FigureCanvasAgg(figure).draw()
    shown = [label.get_text() for label in axes[0, 0].get_yticklabels(which="both") if label.get_visible()]
    assert [text for text in shown if text in ("0.2", "0.5", "1", "2")] == ["0.2", "0.5", "1", "2"]
    assert not any("10" in text for text in shown)
    minor = [
        tick for tick in axes[0, 1].yaxis.get_minor_ticks() if tick.label1.get_visible() and tick.label1.get_text()
    ]
    assert minor == []


def test_many_seeds_are_drawn_as_median_and_band(make):
    """40 seeds have a line each and their median, 41 only the median."""
    for seeds, lines in ((40, 41), (41, 1)):
        many = [make("arm", seed) for seed in range(seeds)]
        ax = figures.mlp_norm(many).axes[0]
        curves = [
            line
            for line in ax.lines
            if line.get_gid() in ("seed", "arm, median of seeds") and len(line.get_xdata()) > 1
        ]
        assert (len(curves), len(ax.collections)) == (lines, 1)


def test_the_band_holds_the_middle_half_of_the_seeds(make):
    """Norms are higher by the number of the seed: of 0 to 4, the middle half is 1 to 3."""
    ax = figures.mlp_norm([make("arm", seed) for seed in range(5)]).axes[0]
    (band,) = ax.collections
    median = next(line for line in ax.lines if line.get_label() == "arm")
    last = band.get_paths()[0].vertices
    edges = sorted({round(y, 6) for x, y in last if x == median.get_xdata()[-1]})
    np.testing.assert_allclose(edges, median.get_ydata()[-1] + np.array([-1.0, 1.0]), atol=1e-5)


def test_a_diverged_run_does_not_stretch_the_axis_of_the_others(make):
    wild = make("SGD", t_grok=None, status="diverged")
    wild.metrics.loc[wild.metrics.index[-1], "D"] = 1e33
    assert figures.accuracy_and_divergence([make(), wild]).axes[1].get_ylim()[1] < 3
    assert figures.accuracy_and_divergence([wild]).axes[1].get_ylim()[1] > 1e32, "there is nothing else to see"
