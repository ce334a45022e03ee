"""What the display counts and draws, over all fleets."""

import io
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from grokscope.cli.live_table import Line, draw, shorten
from grokscope.cli.progress import Display
from grokscope.fleet import Job
from grokscope.fleet.engine import Lane
from grokscope.fleet.stopping import StopRule
from grokscope.tasks.polynomial import Polynomial

ROW = {"train_accuracy": 1.0, "test_accuracy": 0.251, "D": 0.734}


def lane(config, epoch, seconds, status="running", **last):
    job = Job(config=config, sink=None)
    return Lane(job=job, stop_rule=StopRule(config), epoch=epoch, seconds=seconds, status=status, last=last)


def drawn(lines, width, height, footer="0:10 · at most 0:20 left"):
    """The rows of the table as they appear on a screen."""
    console = Console(width=width, height=height, force_terminal=True, color_system=None, legacy_windows=False)
    with console.capture() as capture:
        console.print(draw(lines, width=width, height=height, footer=footer))
    return capture.get().splitlines()


def line(name="all runs, seed 0", *, row=ROW, status="running", regression=False, epochs=10_000):
    return Line(name=name, epoch=epochs // 2, epochs=epochs, row=row, status=status, regression=regression)


def shown(configs, *updates, size=(80, 24), waiting=0):
    """The rows after some updates of a display."""
    console = Console(width=size[0], height=size[1], force_terminal=True, color_system=None, legacy_windows=False)
    display = Display(configs, console=console)
    for lanes in updates:
        display.live = None  # nothing is drawn yet
        display.every = float("inf")
        display.update(lanes, waiting)
    with console.capture() as capture:
        console.print(display._table(waiting))
    return capture.get().splitlines()


def test_lanes_of_all_fleets_are_counted(tiny):
    configs = [replace(tiny, seed=seed, epochs=100) for seed in range(6)]
    display = Display(configs)
    display.update([lane(configs[0], 50, 10.0), lane(configs[1], 50, 10.0, "grokked")], 4)
    display.update([lane(configs[2], 20, 8.0, test_accuracy=0.126)], 3)
    expected = "1 of 6 runs finished, 2 training, 3 waiting, epoch 20, best test accuracy 12.6%, at most "
    assert display._line(3).startswith(expected)


def test_the_last_frame_has_updates_that_came_too_soon_after_another(tiny):
    configs = [replace(tiny, seed=seed, epochs=100) for seed in range(2)]
    out = io.StringIO()
    console = Console(file=out, width=80, height=24, force_terminal=True, color_system=None, legacy_windows=False)
    with Display(configs, console=console, every=float("inf")) as display:
        display.update([lane(configs[0], 50, 10.0, **ROW)], 1)
        first = out.getvalue()
        display.update([lane(configs[1], 20, 8.0, **ROW)], 0)
        assert out.getvalue() == first
    assert "seed 0" in first and "seed 1" not in first
    assert "seed 1" in out.getvalue()


def test_accuracy_of_regression_is_called_r_squared(tiny):
    config = replace(tiny, task=Polynomial(dimension=5, train_size=20, test_size=10), epochs=100)
    display = Display([config])
    display.update([lane(config, 50, 10.0, train_accuracy=0.9, test_accuracy=0.5)], 0)
    assert "best test R² 0.50" in display._line(0)
    header, row, _ = drawn([line(row={"train_accuracy": 0.9, "test_accuracy": 0.5}, regression=True)], 80, 24)
    assert "train R²" in header and "test R²" in header
    assert " 0.90 " in row and " 0.50 " in row and "%" not in row
    mixed = drawn([line(regression=True), line()], 80, 24)
    assert "R²" not in mixed[0]
    assert "R² 0.25" in mixed[1] and "25.1%" in mixed[2]


def test_the_time_left_counts_those_that_wait(tiny):
    """Two in training: 20 s and 40 s for all their epochs, half and a fifth of them done. Three wait, 30 s each, for two lanes."""
    configs = [replace(tiny, seed=seed, epochs=100) for seed in range(5)]
    display = Display(configs)
    assert display._left(5) == 0
    display.update([lane(configs[0], 50, 10.0), lane(configs[1], 20, 8.0)], 3)
    assert display._left(0) == pytest.approx(32.0)
    assert display._left(3) == pytest.approx(32.0 + 3 * 30 / 2)


def test_only_columns_that_a_run_has_are_shown():
    header, row, _ = drawn([line()], 80, 24)
    assert header.split() == ["run", "epoch", "train", "test", "D"]
    assert row.split()[:10] == ["all", "runs,", "seed", "0", "5000", "/", "10000", "100.0%", "25.1%", "0.73"]
    without = {name: value for name, value in ROW.items() if name != "D"}
    header, row, _ = drawn([line(row=without)], 80, 24)
    assert header.split() == ["run", "epoch", "train", "test"]
    assert len(drawn([line(row=without), line(), line(row={})], 80, 24)) == 5


def test_a_search_shows_held_out_examples_in_place_of_test_examples():
    row = {"train_accuracy": 1.0, "test_accuracy": 0.77, "val_accuracy": 0.5}
    line = Line(name="a", epoch=1, epochs=2, row=row, status="running", regression=False, held_out=True)
    console = Console(width=80, file=io.StringIO())
    console.print(draw([line], width=80, height=10, footer=""))
    text = console.file.getvalue()
    assert "held out" in text and "50.0%" in text and "█" * 10 in text
    assert "test" not in text and "77" not in text and "█" * 11 not in text


def test_a_value_that_is_not_finite_is_shown():
    values = dict.fromkeys(ROW, float("nan"))
    _, row, last, _ = drawn([line(row=values, status="diverged"), line(row={"test_accuracy": float("inf")})], 80, 24)
    assert row.endswith("diverged")
    assert "nan" in row
    assert last.rstrip().endswith("█" * 10)


@pytest.mark.parametrize("width", [40, 60, 80, 120, 160])
@pytest.mark.parametrize("epochs", [50, 10_000_000])
def test_every_run_has_one_row_however_long_its_name(width, epochs):
    name = "prior.beta = 0.3, optim.weight_decay = 1.0, model.positions = [0, 1], 字, " * 3 + "seed "
    lines = [line(f"{name}{seed}", status=s, epochs=epochs) for seed, s in enumerate(["running", "running", "grokked"])]
    rows = drawn(lines, width, 24, footer="12 more finished · " * 20)
    assert len(rows) == 5
    assert all(cell_len(row) <= width for row in rows)
    if width >= 80:
        assert all(f"seed {seed}" in row for seed, row in enumerate(rows[1:4]))
        assert rows[1].startswith("beta=0.") and "…" in rows[1]
        assert "grokked" in rows[3]
        assert "0.73" in rows[1]


def test_names_lose_their_prefixes_before_they_are_cut():
    lines = [line(f"prior.beta = {beta}, optim.weight_decay = 1.0, seed 0") for beta in (0.0, 0.1)]
    assert drawn(lines, 120, 24)[1].startswith("prior.beta = 0.0, optim.weight_decay = 1.0, seed 0  5000")
    assert drawn(lines, 120, 24)[1].rstrip().endswith("█" * 5)
    assert drawn(lines, 80, 24)[2].startswith("beta=0.1, weight_decay=1.0, seed 0  5000")


@pytest.mark.parametrize("height", [4, 10, 24, 40])
def test_the_rows_fit_the_height(height):
    rows = drawn([line(f"run {number}") for number in range(100)], 80, height)
    assert len(rows) == height - 1
    assert [row.split()[1] for row in rows[1:-1]] == [str(number) for number in range(height - 3)]


def test_running_lanes_come_first_then_the_finished_ones_most_recent_first(tiny):
    configs = [replace(tiny, seed=seed, epochs=100) for seed in range(30)]
    one, two, three, four = (lane(config, 50, 10.0, **ROW) for config in configs[:4])
    two.status = "grokked"
    rows = shown(configs, [one, two, three, four])
    assert [row.split()[3] for row in rows[1:5]] == ["0", "2", "3", "1"]
    one.status, three.status = "diverged", "done"
    rows = shown(configs, [two], [three], [one], [four], waiting=26)
    assert [row.split()[3] for row in rows[1:5]] == ["3", "0", "2", "1"]
    assert [row.split()[-1] for row in rows[2:5]] == ["diverged", "done", "grokked"]
    assert rows[5].startswith("26 waiting · ")


def test_hidden_runs_are_counted(tiny):
    configs = [replace(tiny, seed=seed, epochs=100) for seed in range(40)]
    running = [lane(config, 50, 10.0, **ROW) for config in configs[:30]]
    ended = [lane(config, 100, 10.0, "done", **ROW) for config in configs[30:]]
    assert shown(configs, running, ended)[-1].startswith("9 more running · 10 more finished · ")
    assert len(shown(configs, running, ended)) == 23
    assert shown(configs, running, ended, size=(80, 36))[-1].startswith("7 more finished · ")
    assert "more" not in shown(configs, running, ended, size=(80, 60))[-1]


@pytest.mark.parametrize("width", [1, 2, 5, 9, 30])
def test_shortening_keeps_both_ends(width):
    short = shorten("abcdefghijkl", width)
    assert cell_len(short) <= width
    assert short == {1: "…", 2: "…l", 5: "ab…kl", 9: "abcd…ijkl", 30: "abcdefghijkl"}[width]
