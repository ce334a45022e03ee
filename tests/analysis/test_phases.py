"""The phases of synthetic runs whose borders are known, with the noise that real runs have."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grokscope.analysis import FIRST_TOUCH, Criterion, Phases, Span, find_phases

LAST = 2000
EPOCHS = np.arange(0, LAST + 1, 10)


def curve(*points: tuple[float, float]) -> np.ndarray:
    """Straight lines on a log scale through (epoch, value)."""
    epochs, values = zip(*points, strict=True)
    return np.exp(np.interp(EPOCHS, epochs, np.log(values)))


def run(
    gradient: np.ndarray,
    *,
    t_mem: float = 200,
    t_grok: float = 1500,
    loss: np.ndarray | None = None,
    noise: float = 0.0,
    seed: int = 0,
) -> pd.DataFrame:
    """A run whose accuracies jump at t_mem and t_grok; `noise` is the spread of the logarithm of the gradient."""
    jitter = np.random.default_rng(seed).normal(0, noise, len(EPOCHS))
    return pd.DataFrame(
        {
            "epoch": EPOCHS,
            "train_accuracy": np.where(t_mem <= EPOCHS, 1.0, 0.1),
            "test_accuracy": np.where(t_grok <= EPOCHS, 1.0, 0.1),
            "train_loss": curve((0, 4), (200, 0.05), (LAST, 0.01)) if loss is None else loss,
            "grad_M": gradient * np.exp(jitter),
        }
    ).astype({"grad_M": np.float32, "train_loss": np.float32})


STORY = curve((0, 1e-3), (150, 1e-1), (300, 1e-3), (1000, 1e-3), (1400, 1e-2), (1600, 1e-2), (LAST, 1e-4))
"""Falls to 1 % after memorisation, stays there, and comes back tenfold between 1000 and 1400: ×2 is passed at 1120."""

FALLS_FOR_GOOD = curve((0, 1e-3), (150, 1e-1), (300, 1e-3), (LAST, 1e-3))

NEVER = float("inf")


@pytest.mark.parametrize("noise", [0, 0.15, 0.3])
def test_all_four_phases(noise: float) -> None:
    phases = find_phases(run(STORY, noise=noise))
    assert (phases.t_mem, phases.t_grok) == (200, 1500)
    assert phases.t_c is not None
    assert phases.t_c == pytest.approx(1120, abs=60)
    assert [span.name for span in phases.borders] == ["memorisation", "plateau", "resurgence", "grokking"]
    assert phases.memorisation == Span("memorisation", 0, 200)
    assert phases.plateau == Span("plateau", 200, phases.t_c)
    assert phases.resurgence == Span("resurgence", phases.t_c, 1500)
    assert phases.grokking == Span("grokking", 1500, LAST)
    assert phases.rise == pytest.approx(10, rel=0.4)
    assert phases.fall is not None and phases.fall < 0.04


def test_a_signal_that_fades_again_before_grokking_still_came_back() -> None:
    story = curve((0, 1e-3), (150, 1e-1), (300, 1e-3), (800, 1e-3), (1100, 1e-2), (1450, 1e-4), (LAST, 1e-4))
    assert find_phases(run(story, noise=0.15)).t_c == pytest.approx(890, abs=60)


@given(st.integers(0, 200))
def test_noise_on_a_flat_plateau_is_no_resurgence(seed: int) -> None:
    phases = find_phases(run(FALLS_FOR_GOOD, noise=0.25, seed=seed))
    assert phases.t_c is None
    assert phases.resurgence is None
    assert phases.plateau == Span("plateau", 200, 1500)


def test_a_single_spike_is_no_resurgence() -> None:
    spiked = FALLS_FOR_GOOD.copy()
    spiked[[80, 81]] *= 100
    assert find_phases(run(spiked)).t_c is None


def test_a_gradient_that_never_falls_is_no_plateau() -> None:
    phases = find_phases(run(curve((0, 1e-2), (200, 1e-1), (500, 5e-2), (1500, 3e-1), (LAST, 1e-3)), noise=0.1))
    assert (phases.plateau, phases.resurgence, phases.t_c, phases.loss_bump) == (None, None, None, None)
    assert phases.fall == pytest.approx(0.5, rel=0.4)
    assert [span.name for span in phases.borders] == ["memorisation", "grokking"]


@pytest.mark.parametrize(("lowest", "expected"), [(0.038, False), (0.028, True)])
def test_the_fall_counts_from_a_third(lowest: float, expected: bool) -> None:
    gradient = np.where(EPOCHS <= 200, 0.1, lowest)
    assert (find_phases(run(gradient)).plateau is not None) is expected


@pytest.mark.parametrize(("highest", "expected"), [(0.0019, False), (0.0021, True)])
def test_the_rise_counts_from_a_factor_of_two(highest: float, expected: bool) -> None:
    gradient = np.where(EPOCHS <= 200, 0.1, np.where(EPOCHS < 1000, 0.001, highest))
    assert (find_phases(run(gradient)).t_c is not None) is expected


def test_never_grokked_and_still_on_the_plateau() -> None:
    phases = find_phases(run(FALLS_FOR_GOOD, t_grok=NEVER))
    assert phases.borders == [Span("memorisation", 0, 200), Span("plateau", 200, LAST)]
    assert phases.loss_bump is None
    assert "still on at the last evaluation" in phases.describe()[1]


def test_never_grokked_though_the_signal_came_back() -> None:
    stays_back = curve((0, 1e-3), (150, 1e-1), (300, 1e-3), (1000, 1e-3), (1400, 1e-2), (LAST, 1e-2))
    phases = find_phases(run(stays_back, t_grok=NEVER))
    assert phases.resurgence is not None
    assert phases.resurgence.end == LAST
    assert phases.grokking is None


def test_never_memorised() -> None:
    phases = find_phases(run(STORY, t_mem=NEVER, t_grok=NEVER))
    assert phases.borders == [Span("memorisation", 0, LAST)]
    assert phases.describe(status="done") == [
        "Memorisation (train accuracy ≥ 99 %, held 100 epochs): never by epoch 2,000.",
        "Plateau: none, the run has not memorised.",
        "Resurgence: none, there was no plateau to come back from.",
        "Grokking (test accuracy ≥ 99 %, held 100 epochs): never by epoch 2,000.",
    ]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("done", "never by epoch 2,000"),
        ("stopped", "not by epoch 2,000 (stopped)"),
        ("running", "not by epoch 2,000 (still running)"),
        ("diverged", "not by epoch 2,000 (diverged)"),
        ("grokked", "not by epoch 2,000 (ended by the stop rule)"),
        ("", "not by epoch 2,000"),
    ],
)
def test_never_is_said_only_of_a_run_that_was_trained_to_its_last_epoch(status: str, words: str) -> None:
    phases = find_phases(run(STORY, t_mem=NEVER, t_grok=NEVER))
    first, *_, last = phases.describe(status=status)
    assert first == f"Memorisation (train accuracy ≥ 99 %, held 100 epochs): {words}."
    assert last == f"Grokking (test accuracy ≥ 99 %, held 100 epochs): {words}."


def test_phases_go_by_the_criterion() -> None:
    table = run(STORY)
    table.loc[table["epoch"] == 100, "train_accuracy"] = 1.0  # a touch
    table.loc[table["epoch"] == 1300, "test_accuracy"] = 1.0
    held, touched = find_phases(table), find_phases(table, FIRST_TOUCH)
    assert (held.t_mem, held.t_grok) == (200, 1500)
    assert (touched.t_mem, touched.t_grok) == (100, 1300)
    assert touched.resurgence is not None and touched.resurgence.end == 1300
    assert touched.describe(FIRST_TOUCH)[0] == "Memorisation (train accuracy ≥ 99 %, first touch): at epoch 100."
    lower = find_phases(table.assign(test_accuracy=table["test_accuracy"] * 0.96), Criterion(threshold=0.95))
    assert lower.t_grok == 1500


def test_generalised_before_it_memorised() -> None:
    phases = find_phases(run(STORY, t_mem=600, t_grok=500))
    assert phases.borders == [Span("memorisation", 0, 500), Span("grokking", 500, LAST)]
    assert "generalised no later than it memorised" in phases.describe()[1]


def test_too_few_evaluations_to_tell() -> None:
    phases = find_phases(run(STORY, t_mem=300, t_grok=330))
    assert (phases.fall, phases.rise, phases.plateau, phases.t_c) == (None, None, None, None)
    assert "fewer than 5 evaluations" in phases.describe()[1]


def test_loss_bump_is_measured_from_the_minimum_on_the_plateau() -> None:
    bumpy = curve((0, 4), (200, 0.05), (900, 0.01), (1300, 0.03), (1500, 0.03), (LAST, 0.001))
    assert find_phases(run(STORY, loss=bumpy)).loss_bump == pytest.approx(3, rel=0.1)
    steady = find_phases(run(STORY))
    assert steady.loss_bump == 1
    assert steady.describe()[2].endswith("Train loss did not rise.")


def test_a_run_that_diverged_is_read_up_to_there() -> None:
    table = run(FALLS_FOR_GOOD, t_grok=NEVER)
    table.loc[table["epoch"] > 1500, ["grad_M", "train_loss"]] = np.nan
    assert find_phases(table).plateau == Span("plateau", 200, LAST)


def test_a_gradient_of_zero_is_a_fall() -> None:
    phases = find_phases(run(np.where(EPOCHS <= 200, 0.1, 0.0)))
    assert phases.plateau is not None


def test_a_run_without_evaluations_is_refused() -> None:
    with pytest.raises(ValueError, match="no phases"):
        find_phases(run(STORY).iloc[:0])


def test_sentences_of_the_whole_story() -> None:
    phases = Phases(t_mem=200, t_c=1120, t_grok=1500, last_epoch=2000, fall=0.0123, rise=9.87, loss_bump=1.25)
    assert phases.describe() == [
        "Memorisation (train accuracy ≥ 99 %, held 100 epochs): at epoch 200.",
        "Plateau: lasted epochs 200 to 1,120; the attention gradient fell to 1.2 % of its peak.",
        "Resurgence: from epoch 1,120 to 1,500; the attention gradient rose 9.9×. Train loss rose to 1.25× its minimum.",
        "Grokking (test accuracy ≥ 99 %, held 100 epochs): at epoch 1,500.",
    ]


def test_sentences_without_a_plateau_or_a_resurgence() -> None:
    no_plateau = Phases(t_mem=200, t_c=None, t_grok=1500, last_epoch=2000, fall=0.6, rise=3.0, loss_bump=None)
    assert no_plateau.describe()[1] == "Plateau: none, the attention gradient was never below 60 % of its peak."
    no_return = Phases(t_mem=200, t_c=None, t_grok=1500, last_epoch=2000, fall=0.1, rise=1.4, loss_bump=None)
    assert no_return.describe()[2] == "Resurgence: none, the attention gradient rose no more than 1.4×."


def test_without_the_gradient_on_attention_a_plateau_is_unknown():
    epochs = np.arange(0, 2000, 25)
    table = pd.DataFrame({"epoch": epochs, "train_accuracy": epochs > 100, "test_accuracy": epochs > 1000}).astype(
        float
    )
    told = find_phases(table).describe()
    assert told[1] == "Plateau: unknown, the gradient on attention (grad_M) was not recorded."
    assert told[2] == "Resurgence: unknown, for the same reason."
    seen = find_phases(table.assign(grad_M=1.0, train_loss=1.0)).describe()
    assert seen[1] == "Plateau: none, the attention gradient was never below 100 % of its peak."
