"""What `runs`, `show` and `report` say of when a run memorised and grokked: by which criterion, and of runs that have not."""

import json
from dataclasses import replace

import pytest

from grokscope.analysis import DEFAULT, summary_of
from grokscope.cli.look import parse_criterion
from grokscope.store import RunFolder

FELL_BACK = [0.1, 1.0, 0.9, 0.98, 0.98, 0.98, 0.98]
"""Test accuracy every 50 epochs: touches 99 % at epoch 50, ends at 98 %."""
GROKS = [0.1, 1.0, 0.9, 0.98, 1.0, 1.0, 1.0]
"""The same, but from epoch 200 on it stays."""
WAITS = [0.1] * 7


@pytest.fixture
def store(tiny, tmp_path):
    """Stores a run with these test accuracies; its id. An older run's summary does not say by which criterion."""

    def save(accuracies, status="done", older=False, seed=0):
        config = replace(tiny, seed=seed, epochs=300)
        rows = [
            {
                "epoch": 50 * i,
                "seconds": 1.0 * i,
                "train_loss": 1.0,
                "train_accuracy": 0.1 if i < 2 else 1.0,
                "test_accuracy": a,
            }
            for i, a in enumerate(accuracies)
        ]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        summary = {"t_mem": 50, "t_grok": 50} if older else summary_of(columns)
        summary |= {name: rows[-1][name] for name in ("train_accuracy", "test_accuracy")}
        with RunFolder.create_or_open(tmp_path / "runs", config.id, config.to_dict(), device="cpu") as folder:
            folder.save(rows[-1]["epoch"], rows, {}, {}, summary, status=status)
        return config.id

    return save


def times(run, *words):
    code, out, _ = run("runs", "--json", *words)
    assert code == 0
    return [(one["t_mem"], one["t_grok"]) for one in json.loads(out)]


@pytest.mark.parametrize("older", [False, True])
def test_a_run_that_only_touched_the_threshold_has_not_grokked(run, store, older):
    store(FELL_BACK, older=older)
    assert times(run) == [(100, None)]
    assert times(run, "--clock", "first") == [(100, 50)]
    assert times(run, "--clock", "held", "--window", "0") == [(100, 50)]
    assert times(run, "--threshold", "0.98") == [(100, 150)]


def test_the_clocks_and_the_threshold_are_options(run, store):
    store(GROKS)
    assert times(run) == times(run, "--clock", "stable") == [(100, 200)]
    assert times(run, "--threshold", "0.9", "--clock", "stable") == [(100, 50)]


def test_machines_are_told_the_criterion(run, store):
    id = store(FELL_BACK)
    (one,) = json.loads(run("runs", "--json", "--clock", "first")[1])
    assert one["criterion"] == {"threshold": 0.99, "clock": "first", "window": 100}
    shown = json.loads(run("show", id, "--json")[1])
    assert shown["criterion"] == shown["summary"]["criterion"] == DEFAULT.to_dict()
    assert (shown["t_grok"], shown["times"]["t_grok_first"]) == (None, 50)


def test_people_are_told_the_criterion(run, store, tmp_path):
    id = store(FELL_BACK)
    held = "t_mem: train accuracy ≥ 99 %, held 100 epochs; t_grok: test accuracy ≥ 99 %, held 100 epochs"
    out = run("runs")[1]
    assert held in out and "never" in out
    assert held.replace("held 100 epochs", "first touch") in run("runs", "--clock", "first")[1]
    out = run("show", id)[1]
    assert "Grokking (test accuracy ≥ 99 %, held 100 epochs): never by epoch 300." in out
    assert "first touch of 99 %: test accuracy at epoch 50\n" in out
    assert "first touch of" not in run("show", id, "--clock", "first")[1]
    run("report", "--threshold", "0.95", "--clock", "stable", "-o", "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Grokked: test accuracy ≥ 95 %, to the end of the run." in page
    assert '<td class="number">150</td>' in page


@pytest.mark.parametrize(
    ("status", "cell", "words"),
    [
        ("done", "never", "never by epoch 300"),
        ("stopped", "not yet", "not by epoch 300 (stopped)"),
        ("diverged", "diverged", "not by epoch 300 (diverged)"),
    ],
)
def test_never_is_said_only_of_a_run_that_was_trained_to_its_last_epoch(run, store, tmp_path, status, cell, words):
    id = store(WAITS, status)
    (row,) = [line.split() for line in run("runs")[1].splitlines() if line.startswith(id)]
    assert " ".join(row[5:-2]) == cell
    assert f"Grokking (test accuracy ≥ 99 %, held 100 epochs): {words}." in run("show", id)[1]
    run("report", "-o", "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f'<td class="number unreached">{cell}</td>' in page
    assert ("never grokked" in page) == (status == "done")
    assert ("0 of 1 runs grokked, 1 " in page) == (status != "done")


def test_a_narrow_screen_cuts_nothing_off(run, store, monkeypatch):
    id = store(GROKS)
    other = store(WAITS, "stopped", seed=1)
    wide = run("runs")[1]
    monkeypatch.setenv("COLUMNS", "40")
    assert run("runs")[1] == wide
    assert id in wide and other in wide and "stopped" in wide and "…" not in wide


def test_a_run_whose_metrics_are_damaged_does_not_hide_the_others(run, store, tmp_path):
    good, bad = store(GROKS), store(GROKS, older=True, seed=1)
    (part,) = (tmp_path / "runs" / bad / "metrics").glob("*.parquet")
    part.write_bytes(b"broken")
    code, out, err = run("runs")
    assert code == 0
    assert good in out and bad in out
    assert part.name in err and err.count("\n") == 1


def test_the_defaults_of_the_options_are_those_of_the_analysis(run):
    assert parse_criterion(0.99, "held", 100) == DEFAULT
    for command in ("runs", "show", "report"):
        out = run(command, "--help")[1]
        assert all(default in out for default in ("[default: 0.99]", "[default: held]", "[default: 100]"))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--clock", "hold"], "--clock: no clock is called 'hold'. Did you mean held?\n"),
        (["--threshold", "99"], "--threshold: 99 is not an accuracy between 0 and 1, such as 0.99\n"),
        (["--window", "-5"], "--window: -5 is below 0\n"),
    ],
)
@pytest.mark.parametrize("command", [["runs"], ["show", "3f9a"], ["report"]], ids=" ".join)
def test_an_invalid_criterion_is_one_clear_line(run, store, command, words, line):
    store(GROKS)
    assert run(*command, *words) == (2, "", line)
