"""Pages about many runs: bounded in size, and they say what they leave out."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest
from many import make_runs

from grokscope import describe
from grokscope.analysis import summarise
from grokscope.report import arms as report_arms
from grokscope.report import runs as report_runs
from grokscope.report.arms import drawn_arms, left_out, statistics, table_of_arms
from grokscope.report.runs import build_page
from grokscope.report.settings import read_settings, settings_table
from grokscope.store import list_runs

LARGEST = 5_000_000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        make_runs(folder, arms=200, seeds=1, rows=20)
        make_runs(folder, arms=1, seeds=60, rows=20)
    return folder


def test_a_page_about_many_arms_is_bounded(many: Path) -> None:
    calls: list[tuple[str, int, int]] = []
    built = build_page(list_runs(many), command="grokscope report", progress=lambda *call: calls.append(call))
    assert len(built.html) < LARGEST
    assert "The pictures show 9 of 200 arms" in built.html
    assert "The first 100 of 200 arms" in built.html
    assert "The first 200 of 259 runs" in built.html
    assert built.html.count("<dt>") == 9
    assert built.html.count('<th scope="row"><code>') == 200 + len(settings_table(read_settings(list_runs(many))))
    assert "… (60 values)" in built.html
    assert calls[0] == ("reading runs", 1, 259)
    assert ("reading runs", 259, 259) in calls
    assert calls[-1] == ("drawing pictures", len(built.pictures), len(built.pictures))
    assert [picture.name for picture in built.pictures] == ["accuracy", "times", "attention", "gradient", "mlp-norm"]


def test_more_arms_on_request(many: Path) -> None:
    runs = list_runs(many)[:24]
    few = build_page(runs, command="grokscope report", figures=["times"])
    more = build_page(runs, command="grokscope report", figures=["times"], most_arms=30)
    assert (few.html.count("<dt>"), more.html.count("<dt>")) == (9, 24)
    assert "The pictures show" not in more.html


def test_settings_are_parsed_once_per_arm(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    whole = report_runs.read_settings.__globals__["read_stored"]
    monkeypatch.setitem(
        report_runs.read_settings.__globals__,
        "read_stored",
        lambda plain, name, notify: read.append(name) or whole(plain, name, notify),
    )
    runs = list_runs(many)
    settings = read_settings(runs)
    assert len(read) == 200
    for run, config, plain in zip(runs, settings.configs, settings.values, strict=True):
        assert config is not None
        assert config.to_dict() == plain == run.config


def test_docstrings_are_parsed_once_per_class(monkeypatch: pytest.MonkeyPatch, many: Path) -> None:
    settings = read_settings(list_runs(many))
    settings_table(settings)
    monkeypatch.setattr(describe.ast, "parse", lambda source: pytest.fail("parsed again"))
    assert settings_table(settings)


def table(times: dict[str, list[float | None]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"arm": arm, "seed": seed, "status": "done", "epoch": 900, "t_mem": 10, "t_grok": time}
            for arm, seeds in times.items()
            for seed, time in enumerate(seeds)
        ]
    )


def test_drawn_arms_span_the_range() -> None:
    """Medians 100 … 1000 in shuffled order, then an arm in which one run grokked, and one in which none did."""
    times: dict[str, list[float | None]] = {"none": [None, None, None], "one": [None, 800, None]}
    times |= {f"m{k}": [100.0 * k] * 3 for k in (5, 2, 8, 1, 4, 7, 3, 6)}
    summary = summarise(table(times), "arm")
    assert drawn_arms(summary, 10) == list(times)
    assert drawn_arms(summary, 4) == ["m1", "m4", "m7", "none"]
    assert drawn_arms(summary, 1) == ["m1"]
    assert "4 of 10 arms" in left_out(["m1", "m4", "m7", "none"], summary)
    assert left_out(list(times), summary) == ""


def test_statistics_of_many_arms_are_an_overview() -> None:
    times: dict[str, list[float | None]] = {f"m{k}": [100.0 * k, None, 100.0 * k] for k in range(1, 13)}
    runs = table(times)
    lines = statistics(runs, summarise(runs, "arm"))
    assert lines[0] == "36 runs in 12 arms: 24 grokked."
    assert "soonest: m1 (100 epochs); latest: m9 (900 epochs)" not in lines[1]
    assert "soonest: m1 (100 epochs)" in lines[1] and "latest: m12 (1,200 epochs)" in lines[1]
    assert lines[2].startswith("Log-rank test between all arms: χ² = ")
    assert "with 11 degrees of freedom" in lines[2]
    section = table_of_arms(runs, summarise(runs, "arm"))
    assert section.rows[0] == ("m1", "100", "100 to 100", "2 of 3")
    assert len(section.rows) == 12


def test_the_table_of_arms_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_arms, "LISTED", 3)
    runs = table({f"m{k}": [100.0 * k] for k in range(12)})
    section = table_of_arms(runs, summarise(runs, "arm"))
    assert len(section.rows) == 3
    assert "The first 3 of 12 arms" in section.text[0]


def test_few_arms_are_compared_two_at_a_time() -> None:
    runs = table({"a": [100, 200, 300], "b": [400, 500, None]})
    lines = statistics(runs, summarise(runs, "arm"))
    assert lines[0] == "a: median 200 epochs (100 to 300), 3 of 3 runs grokked."
    assert lines[1] == "b: median 500 epochs (400 to 500), 2 of 3 runs grokked."
    assert lines[2].startswith("a against b: log-rank p = ")
    assert len(lines) == 3


def test_a_p_value_is_never_zero():
    assert report_arms._p(0.0) == "p < 1e-300"
    assert report_arms._p(0.0421) == "p = 0.0421"
