"""Pictures of grokking tickets: curves of training and test, ratios, structure, neurons, progress."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from grokscope import figures
from grokscope.errors import ConfigError
from grokscope.papers.grokking_tickets.figures.fourier import fourier_entropy_over_time, neuron_spectra, neuron_weights
from grokscope.papers.grokking_tickets.figures.mask_periods import mask_periods, mean_power
from grokscope.papers.grokking_tickets.figures.progress import progress_measures
from grokscope.papers.grokking_tickets.figures.ratio import ratio_against
from grokscope.papers.grokking_tickets.figures.structure import structure_change, weights_and_masks
from grokscope.papers.grokking_tickets.figures.table1 import accuracy_from_start
from grokscope.store.blocks import flag_cell, number_cells
from grokscope.store.results import Results


def marks(figure: Figure, gid: str) -> list:
    return [line for ax in figure.axes for line in ax.lines if line.get_gid() == gid]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def results(runs: pd.DataFrame | None = None, **probes: pd.DataFrame) -> Results:
    return Results({}, pd.DataFrame() if runs is None else runs, pd.DataFrame(), probes)


# ── training and test ────────────────────────────────────────────────────────────────────────────────────────────


def test_few_arms_share_a_panel(runs):
    figure = figures.train_and_test(runs)
    assert [(ax.get_xscale(), ax.get_ylabel()) for ax in figure.axes] == [
        ("log", "training accuracy"),
        ("log", "test accuracy"),
    ]
    assert legend(figure) == ["no prior", "oracle", "adversarial", "middle half of seeds", "middle seed groks"]
    dashed = {line.get_label(): line.is_dashed() for line in figure.axes[1].lines if line.get_gid() != "grokking"}
    assert dashed == {"no prior": False, "oracle": True, "adversarial": True}
    assert [line.get_xdata()[0] for line in marks(figure, "grokking")] == [650, 250]


def test_many_arms_have_a_panel_for_training_and_one_for_test(make):
    runs = [make(f"rate {n / 10}", t_grok=100 + 50 * n) for n in range(10)]
    figure = figures.train_and_test(runs)
    *shown, bar = figure.axes
    assert [ax.get_ylabel() for ax in shown] == ["training accuracy", "test accuracy"]
    for ax, column in zip(shown, ("train_accuracy", "test_accuracy"), strict=True):
        drawn = [line for line in ax.lines if line.get_gid() != "grokking"]
        assert len(drawn) == 10
        np.testing.assert_array_equal(drawn[0].get_ydata(), make("x", t_grok=100).series(column)[1])
    assert [text.get_text() for text in bar.get_yticklabels()] == [f"{n / 10:g}" for n in range(10)]
    assert bar.get_ylabel() == "rate"
    assert legend(figure) == ["grokking"]


def test_arms_apart_on_a_linear_axis(runs):
    figure = figures.train_and_test(runs, apart=True, linear=True)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["no prior", "oracle", "adversarial"]
    assert {(ax.get_xscale(), ax.get_xlim()) for ax in figure.axes} == {("linear", (0, 1000))}


@pytest.mark.parametrize("how", [{}, {"apart": True}])
def test_losses_stand_on_a_log_scale(runs, how):
    figure = figures.train_and_test(runs, column="loss", **how)
    assert {ax.get_yscale() for ax in figure.axes} == {"log"}
    assert figure.axes[0].get_ylabel() == ("loss" if how else "training loss")
    ax = figure.axes[0 if how else 1]
    (test,) = [line for line in ax.lines if line.get_label() == ("test" if how else "no prior")]
    assert (test.get_ydata()[0], test.get_ydata()[-1]) == pytest.approx((2.0, 0.01))


def test_ordered_arms_take_a_ramp_of_colours():
    plain, ordered = figures.arm_colours(["a", "b", "c"]), figures.arm_colours(["a", "b", "c"], ordered=True)
    assert set(plain.values()).isdisjoint(ordered.values())
    assert len(set(ordered.values())) == 3
    assert figures.arm_colours(["a"], ordered=True)["a"] == ordered["a"]


def test_norms_and_entropies_have_the_rows_they_recorded(runs):
    assert [ax.get_ylabel() for ax in figures.norms_over_time(runs).axes] == ["L2 norm ‖θ‖₂", "L1 norm ‖θ‖₁"]
    labels = [ax.get_ylabel().replace("\n", " ") for ax in fourier_entropy_over_time(runs).axes]
    assert labels == ["Fourier entropy, reads (nats)", "Fourier entropy, writes (nats)", "test accuracy (fraction)"]


# ── ratios ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def times():
    """Three seeds an arm: (t_mem, t_gen); at rate 0.9 two of three never generalise, one not even memorises."""
    reached = {
        ("dense", None): [(100, 1000), (100, 2000), (200, 8000)],
        ("rate 0.5", 0.5): [(200, 400), (200, 600), (200, None)],
        ("rate 0.9", 0.9): [(400, 4000), (400, None), (None, None)],
    }
    rows = [
        {"arm": arm, "ticket.rate": rate, "epoch": 10_000, "t_mem_first_95": t_mem, "t_first_95": t_gen}
        for (arm, rate), runs in reached.items()
        for t_mem, t_gen in runs
    ]
    return pd.DataFrame(rows)


def points(figure, panel, gid):
    found = [line.get_xydata() for line in figure.axes[panel].lines if line.get_gid() == gid]
    return [tuple(point) for point in np.concatenate(found).round(6).tolist()]


def test_ratios_with_runs_that_never_generalised(times):
    figure = ratio_against(results(times), by="ticket.rate", name="pruning rate", zero="dense")
    assert points(figure, 0, "reached") == [(0, 10), (0, 20), (0, 40), (0.5, 2), (0.5, 3), (0.9, 10)]
    assert points(figure, 0, "censored") == [(0.5, 50), (0.9, 25)]
    assert points(figure, 0, "median") == [(0, 20), (0.5, 3), (0.9, 10)]
    assert len(points(figure, 1, "reached")) == 8 + 6
    assert [y for _, y in points(figure, 1, "censored")] == [10_000] * 4
    t_mem, t_gen = (line.get_ydata() for line in figure.axes[1].lines if line.get_gid() == "median")
    np.testing.assert_array_equal(t_mem, [100, 200, 400])
    np.testing.assert_array_equal(t_gen, [2000, 600, np.nan])
    assert {ax.get_xlabel() for ax in figure.axes} == {"pruning rate (0: dense)"}
    assert {ax.get_xscale() for ax in figure.axes} == {"linear"}
    assert "not by its last epoch: the truth lies higher" in legend(figure)
    figures.to_svg(figure)


def test_ratios_of_some_arms_on_a_log_axis(times):
    wide = times.assign(**{"optim.lr": [1e-4] * 3 + [1e-2] * 3 + [5.0] * 3})
    figure = ratio_against(results(wide), by="optim.lr", name="learning rate", arms=["dense", "rate 0.5"])
    assert {ax.get_xscale() for ax in figure.axes} == {"log"}
    assert {x for x, _ in points(figure, 0, "reached")} == {1e-4, 1e-2}
    with pytest.raises(ConfigError, match=r"by: no run has a number for ticket\.rate"):
        ratio_against(results(times), by="ticket.rate", name="rate", arms=["dense"])


# ── structure ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def jaccard():
    """Six runs of an arm: test accuracy rises most at 200 + 100·seed; the run ends 50 epochs after its last whole interval."""
    rows = [
        {
            **{"arm": arm, "seed": seed, "run": f"{arm}{seed}", "epoch": epoch, "previous": previous, "layer": layer},
            **{"distance": 0.0 if arm == "ticket" else 0.5 - 0.1 * abs(epoch - 200 - 100 * seed) / 100 + place / 100},
            "accuracy_change": 0.5 if epoch == 200 + 100 * seed else 0.01,
        }
        for arm in ("dense", "ticket")
        for seed in range(6)
        for previous, epoch in [*((e - 100, e) for e in range(200, 1001, 100)), (1000, 1050)]
        for place, layer in enumerate(("W_E", "W_in", "all"))
    ]
    return pd.DataFrame(rows)


def test_structure_change_is_counted_from_the_largest_rise(jaccard):
    figure = structure_change(results(jaccard=jaccard))
    assert [ax.get_title(loc="left") for ax in figure.axes if ax.get_title(loc="left")] == ["dense: 6 runs"]
    assert legend(figure) == ["a run", "median", "W_E", "W_in"]
    assert figure.legends[0].get_title().get_text().endswith("its mask is fixed from the start: ticket")
    (rise,) = marks(figure, "median rise of test accuracy")
    assert list(rise.get_xdata()) == list(range(-1, 5))  # where five of the six runs have an interval
    np.testing.assert_allclose(rise.get_ydata(), [0.01, 0.5, 0.01, 0.01, 0.01, 0.01])
    (change,) = marks(figure, "median distance")
    np.testing.assert_allclose(change.get_ydata(), [0.42, 0.52, 0.42, 0.32, 0.22, 0.12])
    np.testing.assert_allclose(marks(figure, "W_in")[0].get_ydata(), change.get_ydata() - 0.01)
    assert len(marks(figure, "run")) == 12
    assert figure.axes[-1].get_xlabel() == "intervals of 100 epochs after the largest rise"
    figures.to_svg(figure)


def test_structure_change_of_a_single_run_and_of_one_matrix(jaccard):
    one = jaccard[(jaccard["run"] == "ticket0") & jaccard["layer"].isin(["W_E", "all"])]
    figure = structure_change(results(jaccard=one))
    assert [ax.get_ylabel() for ax in figure.axes] == ["rise of test\naccuracy", "Jaccard distance,\nall weights"]
    (median,) = marks(figure, "median distance")
    assert list(median.get_xdata()) == list(range(9))


def test_layers_are_told_apart_also_when_they_are_many(jaccard):
    one = jaccard[(jaccard["layer"] == "W_E") & (jaccard["arm"] == "dense")]
    many = pd.concat([one.assign(layer=f"W_{n}") for n in range(9)] + [one.assign(layer="all")])
    figure = structure_change(results(jaccard=many))
    drawn = {n: marks(figure, f"W_{n}")[0] for n in range(9)}
    looks = {(line.get_color(), str(line._unscaled_dash_pattern)) for line in drawn.values()}
    assert len(looks) == 9


@pytest.fixture
def masks():
    numbers = np.arange(-6, 6).reshape(3, 4) / 6
    rows = [
        {
            **{"arm": arm, "seed": seed, "run": f"{arm}{seed}", "epoch": 100, "layer": layer, "size": size},
            **number_cells(numbers * (1 + seed)),
            "mask": flag_cell(numbers > 0),
        }
        for arm in ("dense", "random")
        for seed in (0, 1)
        for layer, size in (("W_E", "3 × 4"), ("W_in", "3 × 500"))
    ]
    return pd.DataFrame(rows)


def test_weights_above_their_masks(masks):
    figure = weights_and_masks(results(masks=masks))
    assert len(figure.axes) == 8
    assert [ax.get_title(loc="left") for ax in figure.axes[:2]] == ["W_E\n3 × 4", "W_in\n3 × 4\nof 3 × 500"]
    assert [figure.axes[n].get_ylabel() for n in (0, 2)] == ["dense\nweights", "dense\nmask"]
    weights, mask = (figure.axes[n].images[0] for n in (0, 2))
    np.testing.assert_allclose(weights.get_array(), np.arange(-6, 6).reshape(3, 4) / 6, atol=0.01)
    np.testing.assert_array_equal(mask.get_array(), np.arange(-6, 6).reshape(3, 4) > 0)
    low, high = weights.get_clim()
    assert low == -high < 0
    assert len(weights_and_masks(results(masks=masks), weights=False).axes) == 4
    figures.to_svg(figure)


def test_the_power_of_a_period_stands_out():
    operands = np.arange(11)[:, None]
    waves = np.cos(2 * np.pi * 3 * operands / 11 + np.arange(4))
    dead = np.zeros((11, 1))
    np.testing.assert_allclose(mean_power(np.hstack([waves, dead])), [0, 0, 5, 0, 0], atol=1e-12)
    noise = np.random.default_rng(0).normal(size=(11, 4000))
    np.testing.assert_allclose(mean_power(noise), 1, atol=0.1)


def test_masks_with_the_entropies_of_every_run(masks):
    found = [
        {"arm": "random", "seed": seed, "run": f"random{seed}", "layer": layer, "excess": value + 0.01 * seed}
        for seed in range(3)
        for layer, value in (("W_E", -0.2), ("W_U", 0.1))
    ]
    sides = pd.concat([masks, masks[masks["layer"] == "W_E"].assign(layer="W_U")])
    figure = mask_periods(results(**{"masks": sides, "mask-entropy": pd.DataFrame(found)}))
    assert [ax.get_title(loc="left") for ax in figure.axes[:2]] == ["dense", "random"]
    assert [len(line.get_ydata()) for line in marks(figure, "mask")] == [1, 1, 2, 2]  # of W_U the columns are operands
    assert "not pruned" in [text.get_text() for text in figure.axes[-2].texts]
    (dots,) = marks(figure, "W_E, a run")
    np.testing.assert_allclose(dots.get_ydata(), [-0.2, -0.19, -0.18])
    (mean,) = marks(figure, "W_U, mean")
    np.testing.assert_allclose(mean.get_ydata(), 0.11)
    figures.to_svg(figure)


# ── Table 1 ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_table_1_has_a_panel_per_method_and_a_row_per_start():
    arms = [f"{method}, {split}, lr {lr}" for method in ("WD", "EP") for split in ("own", "other") for lr in (1, 2)]
    runs = pd.DataFrame([{"run": f"{arm}{seed}", "arm": arm, "seed": seed} for arm in arms for seed in range(3)])
    curves = pd.DataFrame(
        [
            {"run": run, "epoch": epoch, "test_accuracy": accuracy + 0.01 * seed}
            for run, seed in zip(runs["run"], runs["seed"], strict=True)
            for epoch, accuracy in ((0, 0.1), (600, 0.5), (2000, 0.9))
        ]
    )
    reported = {"EP": ((0.8, 0.1), (0.85, 0.1), (0.9, 0.1), (0.95, 0.1))}
    figure = accuracy_from_start(
        Results({}, runs, curves, {}), methods=["WD", "EP"], reported=reported, literal="other, lr 1"
    )
    first, second = figure.axes
    assert [ax.get_title(loc="left") for ax in (first, second)] == ["WD", "EP"]
    assert [label.get_text() for label in first.get_yticklabels()] == ["lr 1", "lr 2"] * 2
    assert [text.get_text() for text in first.texts] == ["own", "other"]
    assert [line.get_xdata()[0] for line in marks(figure, "epoch 2000, mean")] == pytest.approx([0.91] * 8)
    assert len(marks(figure, "epoch 600, a seed")) == 8
    (paper,) = marks(figure, "paper")
    assert list(paper.get_xdata()) == [0.8, 0.95] and paper.axes is second
    figures.to_svg(figure)
    with pytest.raises(ConfigError, match="no arm is called none, …"):
        accuracy_from_start(Results({}, runs, curves, {}), methods=["none"])


# ── neurons ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def neurons():
    """Ten neurons on eleven operands: neuron n has frequency 1 + n % 5 and grows with n."""
    x = np.arange(11)
    reads = np.array([(n + 1) * np.cos(2 * np.pi * (1 + n % 5) * x / 11) for n in range(10)])
    made = {"reads": reads, "spectrum": np.abs(np.fft.rfft(reads))}
    rows = [
        {"arm": arm, "seed": 0, "run": arm, "epoch": epoch, "what": what, **number_cells(epoch / 300 * matrix)}
        for arm, epochs in {"dense": (100, 200, 300), "ticket": (100,)}.items()
        for epoch in epochs
        for what, matrix in made.items()
    ]
    return pd.DataFrame(rows)


def test_lines_of_the_strongest_neurons(neurons):
    figure = neuron_weights(results(neurons=neurons))
    shown = [ax for ax in figure.axes if ax.axison]
    assert [ax.get_title(loc="left") for ax in shown] == ["epoch 100", "epoch 200", "epoch 300", "epoch 100"]
    assert [ax.get_ylabel() for ax in shown] == ["dense\nneuron", "", "", "ticket\nneuron"]
    assert [text.get_text() for text in shown[0].get_yticklabels()] == [str(n) for n in range(9, 1, -1)]
    (first, *_, last) = shown[2].lines
    np.testing.assert_allclose(first.get_ydata(), 10 * np.cos(2 * np.pi * 5 * np.arange(11) / 11), atol=0.1)
    assert last.get_ydata().mean() < first.get_ydata().mean()
    figures.to_svg(figure)


def test_spectra_are_sorted_by_the_strongest_frequency(neurons):
    figure = neuron_spectra(results(neurons=neurons))
    images = [ax.images[0] for ax in figure.axes if ax.images]
    assert len(images) == 4
    peaks = images[2].get_array().argmax(axis=1)
    assert peaks.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert images[0].get_clim() == images[2].get_clim()
    assert images[0].get_clim()[1] == pytest.approx(55, rel=0.02)
    figures.to_svg(figure)


# ── progress ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_progress_measures_of_every_seed():
    rows = [
        {
            **{"arm": arm, "seed": seed, "run": f"{arm}{seed}", "epoch": epoch},
            **{"train_loss": 1 / epoch, "test_loss": 5.0, "restricted_loss": 100 / epoch, "excluded_loss": epoch / 100},
            "key_frequencies": "2, 5" if seed else "3",
        }
        for arm in ("dense", "ticket")
        for seed in range(3)
        for epoch in (100, 200, 300)
    ]
    figure = progress_measures(results(progress=pd.DataFrame(rows)))
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["dense", "ticket"]
    assert figure.axes[0].texts[0].get_text() == "1 to 2 key frequencies"
    assert figure.axes[0].get_yscale() == "log"
    assert [label.split(":")[0] for label in legend(figure)] == [
        "training loss",
        "test loss",
        "restricted loss",
        "excluded loss",
        "middle half of seeds",
    ]
    (median,) = [line for line in figure.axes[0].lines if line.get_label().startswith("excluded")]
    np.testing.assert_allclose(median.get_ydata(), [1, 2, 3])
    figures.to_svg(figure)


@pytest.mark.parametrize(
    ("draw", "probe"),
    [
        (structure_change, "jaccard"),
        (weights_and_masks, "masks"),
        (neuron_weights, "neurons"),
        (neuron_spectra, "neurons"),
        (progress_measures, "progress"),
    ],
)
def test_without_its_probe_there_is_no_picture(draw, probe):
    with pytest.raises(ConfigError, match=f"probes: the results hold no table of probe {probe}"):
        draw(results())
