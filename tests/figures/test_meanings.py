"""One colour per meaning in every figure, sequences in a sequential map, and nothing on top of the data."""

from __future__ import annotations

from itertools import combinations, pairwise

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

from grokscope import figures
from grokscope.experiments.base import all_experiments
from grokscope.figures.facets import facets
from grokscope.figures.sequences import common_name, sequences, values
from grokscope.figures.style import MEANINGS, OTHERS, arm_looks, meaning_of, sequential_colours
from grokscope.pages.assets import DARK_COLOURS
from grokscope.papers.grokking_tickets.figures.fourier import fourier_entropy_over_time

BLUE, GREEN, VERMILLION, PINK = "#0072B2", "#009E73", "#D55E00", "#CC79A7"
KNOWN = {
    "no prior": BLUE,
    "dense": BLUE,
    "none": BLUE,
    "oracle": GREEN,
    "adversarial": VERMILLION,
    "grokking ticket": PINK,
}


def drawn_together():
    """The arms of every experiment that share a figure."""
    for name, experiment in all_experiments().items():
        arms = list(experiment.arms)
        for part in experiment.parts or [""]:
            yield (
                name,
                [arm.removeprefix(f"{part}, ") for arm in arms if arm.startswith(f"{part}, ")] if part else arms,
            )


EXPERIMENTS = list(drawn_together())


@pytest.mark.parametrize(("experiment", "arms"), EXPERIMENTS, ids=lambda value: value if isinstance(value, str) else "")
def test_an_arm_with_a_meaning_has_its_colour_in_every_experiment(experiment, arms):
    colours = figures.arm_colours(arms)
    for arm in arms:
        last = arm.rsplit(", ", 1)[-1]
        if last in KNOWN:
            assert colours[arm] == KNOWN[last]
        if meaning := meaning_of(arm):
            assert colours[arm] == meaning.look.colour


@pytest.mark.parametrize(("experiment", "arms"), EXPERIMENTS, ids=lambda value: value if isinstance(value, str) else "")
def test_sequences_are_coloured_in_order_and_categories_are_not(experiment, arms):
    colours = figures.arm_colours(arms)
    without = [arm for arm in arms if meaning_of(arm) is None]
    groups = sequences(without)
    for group in groups:
        assert [colours[arm] for arm in group] == sequential_colours(len(group))
        assert values(group) == sorted(values(group))
    rest = [arm for arm in without if not any(arm in group for group in groups)]
    assert len(arms) == 1 or {colours[arm] for arm in rest} <= set(OTHERS)


@pytest.mark.parametrize(("experiment", "arms"), EXPERIMENTS, ids=lambda value: value if isinstance(value, str) else "")
def test_no_panel_holds_many_arms_that_are_not_a_sequence(experiment, arms):
    parts = facets(arms)
    assert {arm for part in parts for arm in part.arms} == set(arms)
    assert all(len(part.arms) - len(part.sequence) <= 6 for part in parts)


def luminance(colour):
    return float(np.dot(to_rgb(colour), (0.2126, 0.7152, 0.0722)))


def test_a_sequence_gets_darker_whatever_the_order_of_its_arms():
    colours = figures.arm_colours(["no prior", "β = 1", "β = 0.003", "β = 0.1"])
    ramp = [luminance(colours[f"β = {beta}"]) for beta in (0.003, 0.1, 1)]
    assert ramp == sorted(ramp, reverse=True)
    assert colours["no prior"] == BLUE


def test_numbers_in_words_do_not_make_a_sequence():
    assert sequences(["dense, L1 norm", "dense, L2 norm", "S3", "S4", "float32", "bf16"]) == []
    assert sequences(["ticket at 10,000", "ticket at 2,000"]) == [["ticket at 2,000", "ticket at 10,000"]]
    assert sequences(["operand vocabulary", "q = 16", "constant distractors"]) == [
        ["constant distractors", "q = 16", "operand vocabulary"]
    ]


def test_a_cross_of_two_settings_is_two_sequences():
    rates = [f"lr {lr}, decay 1" for lr in (0.001, 0.003, 0.01)]
    decays = [f"lr 0.01, decay {decay}" for decay in (0.1, 3, 10)]
    assert sequences([*rates, *decays]) == [rates, decays]
    assert [common_name(group) for group in (rates, decays)] == ["lr …, decay 1", "lr 0.01, decay …"]
    first, second = facets([*rates, *decays, "lr 0.01, decay 30"])
    assert first.arms == rates
    assert second.arms == [f"lr 0.01, decay {decay}" for decay in (0.1, 1, 3, 10, 30)]


def test_arms_that_share_a_colour_differ_in_their_dashes():
    looks = arm_looks(["dense", "dense, L1 norm", "dense, L2 norm", "batch 1", "batch 2", "momentum 1", "momentum 2"])
    assert len(set(looks.values())) == len(looks)


def test_arms_are_grouped_by_what_stands_beside_their_meaning():
    arms = [f"{decay}, {prior}" for decay in ("decay", "no decay") for prior in ("no prior", "oracle", "adversarial")]
    parts = facets([*arms, "no decay, adversarial, qk penalty"])
    assert [(part.title, len(part.arms)) for part in parts] == [("decay", 3), ("no decay", 4)]
    assert parts[1].label("no decay, oracle") == "oracle"


def seen(colour, matrix):
    """CIE L*a*b* of a colour as somebody with this confusion of linear RGB sees it."""
    rgb = np.array(to_rgb(colour))
    linear = np.clip(matrix @ np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4), 0, 1)
    to_xyz = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])
    xyz = to_xyz @ linear / [0.9505, 1.0, 1.0888]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


DEUTERANOPIA = np.array([[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]])
PROTANOPIA = np.array([[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]])


@pytest.mark.parametrize("matrix", [np.eye(3), DEUTERANOPIA, PROTANOPIA], ids=["all", "deuteranopia", "protanopia"])
def test_colours_can_be_told_apart(matrix):
    """Simulated after Machado et al. (2009); a difference of 10 is clearly visible."""
    colours = [*(meaning.look.colour for meaning in MEANINGS.values()), *OTHERS]
    distances = [np.linalg.norm(seen(a, matrix) - seen(b, matrix)) for a, b in combinations(colours, 2)]
    assert min(distances) > 10


ARMS = {
    "three": ["no prior", "oracle", "adversarial"],
    "sequence": ["dense", *(f"ticket at {epoch:,}" for epoch in range(2000, 26_000, 2000))],
    "two sequences": ["dense", *(f"{kind} {n / 10}" for kind in ("rate", "global rate") for n in range(1, 10))],
    "settings": [f"{a}, {b}" for a in ("weight decay", "no decay", "norm-matched") for b in ("no prior", "oracle")],
    "many": [f"{word} kind of network with a long name" for word in "abcdefghijk"],
}


@pytest.mark.parametrize("arms", ARMS.values(), ids=ARMS)
@pytest.mark.parametrize(
    "draw",
    [
        figures.train_and_test,
        figures.mlp_norm,
        figures.norms_over_time,
        fourier_entropy_over_time,
        figures.accuracy_and_divergence,
    ],
    ids=lambda draw: draw.__name__,
)
def test_no_text_lies_on_the_data_or_on_other_text(draw, arms, make):
    figure = draw([make(arm, seed, 200 + 40 * seed) for arm in arms for seed in range(3)])
    FigureCanvasAgg(figure).draw()  # lays everything out
    shown = [ax for ax in figure.axes if ax.get_visible()]
    boxes = [legend.get_window_extent() for legend in figure.legends]
    titles = [ax.title.get_window_extent() for ax in shown if ax.title.get_text()]
    titles += [ax._left_title.get_window_extent() for ax in shown if ax._left_title.get_text()]
    labels = [
        label.get_window_extent() for ax in shown for label in (ax.xaxis.label, ax.yaxis.label) if label.get_text()
    ]
    for ax in shown:
        inside = ax.get_window_extent().shrunk(0.99, 0.99)
        assert not any(inside.overlaps(box) for box in [*boxes, *titles, *labels])
        assert not any(isinstance(child, mpl.legend.Legend) for child in ax.get_children())
    for one, other in combinations([*boxes, *titles, *labels], 2):
        assert not one.shrunk(0.98, 0.9).overlaps(other.shrunk(0.98, 0.9))


def test_names_stand_at_the_ends_of_lines_that_end_apart(make):
    runs = [make(arm, seed=30 * place, t_grok=None) for place, arm in enumerate(("no prior", "oracle", "adversarial"))]
    figure = figures.mlp_norm(runs)
    (ax,) = figure.axes
    labels = {text.get_text(): text for text in ax.texts}
    assert list(labels) == ["no prior", "oracle", "adversarial"]
    assert [text.get_color() for text in labels.values()] == [BLUE, GREEN, VERMILLION]
    assert not figure.legends
    FigureCanvasAgg(figure).draw()
    boxes = sorted((text.get_window_extent() for text in labels.values()), key=lambda box: box.y0)
    assert all(below.y1 < above.y0 for below, above in pairwise(boxes))
    assert max(box.x1 for box in boxes) <= figure.bbox.x1


def relative_luminance(colour: str) -> float:
    """Relative luminance of sRGB (WCAG 2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


@pytest.mark.parametrize("count", [*range(1, 15), 40])
def test_sequences_keep_their_order_on_a_dark_screen(count):
    light = sequential_colours(count)
    assert len(set(light)) == count
    dark = [relative_luminance(DARK_COLOURS[colour]) for colour in light]
    assert dark == sorted(dark, reverse=True) and len(set(dark)) == count
    assert min(dark) + 0.05 > 2 * (relative_luminance(DARK_COLOURS["#ffffff"]) + 0.05)
