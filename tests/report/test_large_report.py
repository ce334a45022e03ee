"""Pages about many runs: bounded in size, and they say what they leave out."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pandas as pd
import pytest
from many import make_runs

from grokscope import describe
from grokscope.analysis import summarise
from grokscope.conditions import LONGEST, Arms
from grokscope.errors import ConfigError
from grokscope.report import arms as report_arms
from grokscope.report import runs as report_runs
from grokscope.report.arms import ArmTable, drawn_arms, left_out, reference_arm, statistics, table_of_arms
from grokscope.report.runs import build_page
from grokscope.report.settings import read_settings, settings_table, versions
from grokscope.store import list_runs

LARGEST = 2_000_000


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
    assert "The pictures show 6 of 200 arms" in built.html
    assert "The first 100 of 200 arms" in built.html
    assert "The first 200 of 259 runs" in built.html
    assert built.html.count("<dt>") == 6
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
    assert (few.html.count("<dt>"), more.html.count("<dt>")) == (6, 24)
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


def known(times: dict[str, list[float | None]], reference: str = "", **settings: list[float]) -> ArmTable:
    """A table of arms; `settings` gives the value of each arm."""
    runs = table(times)
    arms = Arms(
        names=list(runs["arm"]),
        settings={arm: {name: values[at] for name, values in settings.items()} for at, arm in enumerate(times)},
        pooled=[],
    )
    for name in settings:
        runs[name] = [arms.settings[arm][name] for arm in runs["arm"]]
    return ArmTable(
        runs=runs,
        summary=summarise(runs, "arm"),
        arms=arms,
        settings=list(settings),
        reference=reference or next(iter(times)),
    )


def test_drawn_arms_span_the_range() -> None:
    """Medians 100 … 1000 in shuffled order, then an arm in which one run grokked, and one in which none did."""
    times: dict[str, list[float | None]] = {"none": [None, None, None], "one": [None, 800, None]}
    times |= {f"m{k}": [100.0 * k] * 3 for k in (5, 2, 8, 1, 4, 7, 3, 6)}
    summary = summarise(table(times), "arm")
    assert drawn_arms(summary, 10) == list(times)
    assert drawn_arms(summary, 4) == ["none", "m1", "m4", "m7"]  # in their order
    assert drawn_arms(summary, 1) == ["m1"]
    assert "m5" in drawn_arms(summary, 3, "m5") and len(drawn_arms(summary, 3, "m5")) == 3
    assert drawn_arms(summary, 1, "m5") == ["m5"]
    assert "4 of 10 arms" in left_out(["m1", "m4", "m7", "none"], summary)
    assert left_out(list(times), summary) == ""


def test_statistics_of_many_arms_are_an_overview() -> None:
    times: dict[str, list[float | None]] = {f"m{k}": [100.0 * k, None, 100.0 * k] for k in range(1, 13)}
    found = known(times, "m6")
    lines = statistics(found)
    assert lines[0] == "36 runs in 12 arms: 24 grokked."
    assert "soonest: m1 (100 epochs)" in lines[1] and "latest: m12 (1,200 epochs)" in lines[1]
    assert lines[2].startswith("Grokking, against m6: ")
    assert "Holm's correction over 11 arms" in lines[2]
    assert len(lines) == 3
    section = table_of_arms(found)
    assert section.rows[0][:4] == ("m1", "100", "100 to 100", "2 of 3")
    assert [row[-1] for row in section.rows].count("reference") == 1
    assert len(section.rows) == 12


def test_the_table_of_arms_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_arms, "LISTED", 3)
    section = table_of_arms(known({f"m{k}": [100.0 * k] for k in range(12)}))
    assert len(section.rows) == 3
    assert "The first 3 of 12 arms" in section.text[0]


def test_few_arms_are_described_each_and_compared_with_the_reference() -> None:
    times: dict[str, list[float | None]] = {"a": [100 + k for k in range(8)], "b": [400 + k for k in range(8)]}
    lines = statistics(known(times | {"c": [*(401.0 + k for k in range(7)), None]}, "b"))
    assert lines[0] == "a: median 103 epochs (100 to 107), 8 of 8 runs grokked."
    assert lines[2] == "c: median 404 epochs (401 to 407), 7 of 8 runs grokked."
    assert lines[3] == (
        "Grokking, against b: sooner in a; later in c (permutation tests, paired by seed, 5 % after Holm's correction over 2 "
        "arms)."
    )


def test_arms_with_other_seeds_are_not_paired_and_few_runs_show_nothing() -> None:
    times: dict[str, list[float | None]] = {"a": [100 + k for k in range(8)], "b": [400 + k for k in range(9)]}
    assert "sooner in a (permutation tests, p = " in statistics(known(times, "b"))[2]
    few: dict[str, list[float | None]] = {"a": [100 + k for k in range(5)], "b": [400 + k for k in range(5)]}
    assert statistics(known(few, "b"))[2] == (
        "Grokking, against b: no difference shown in a (permutation tests, paired by seed, p = 0.0625). So few runs cannot show "
        "a difference, however large it is."
    )


def test_a_trend_is_tested_within_the_other_settings() -> None:
    levels = [(decay, beta) for decay in (0.1, 1.0) for beta in (0.0, 0.1, 0.3)]
    times: dict[str, list[float | None]] = {
        f"{decay}, {beta}": [900 - 1000 * beta - 300 * decay + seed for seed in range(8)] for decay, beta in levels
    }
    lines = statistics(known(times, beta=[b for _, b in levels], decay=[d for d, _ in levels]))
    (trend,) = [line for line in lines if "trend" in line]  # two values of the decay have no order to test
    assert trend.startswith(
        "Grokking comes sooner as beta grows (permutation test for trend over 3 values, at equal decay, seed: z = "
    )


def test_where_nothing_grokked_nothing_is_compared() -> None:
    found = known({"a": [None, None], "b": [None, None]}, beta=[0.0, 1.0])
    assert statistics(found) == ["a: no median, 0 of 2 runs grokked.", "b: no median, 0 of 2 runs grokked."]
    assert table_of_arms(found).header == ("arm", "beta", "median", "range", "grokked")


def test_the_reference_is_the_arm_nearest_to_the_defaults() -> None:
    settings = {"β = 0.3": {"prior.beta": 0.3}, "no prior": {"prior.beta": 0.0}}
    arms = Arms(names=list(settings), settings=settings, pooled=[])
    assert reference_arm(arms, {"prior.beta": 0.0}) == "no prior"
    assert reference_arm(arms, {"prior.beta": 0.0}, "β = 0.3") == "β = 0.3"
    with pytest.raises(ConfigError, match=r"--reference: no arm is called 'no pror'. Did you mean no prior\?"):
        reference_arm(arms, {}, "no pror")


def test_arms_by_one_setting_and_what_they_pool(many: Path) -> None:
    runs = list_runs(many)[:24]
    built = build_page(runs, command="grokscope report", figures=["times"], by=["task.p"])
    assert built.html.count("<dt>") == 1
    assert "Within an arm the runs also differ in " in built.html


def test_names_of_arms_are_short_and_the_settings_are_in_a_table(many: Path) -> None:
    runs = list_runs(many)[:24]
    built = build_page(runs, command="grokscope report", figures=["times"])
    section = built.html.split('id="arms"')[1].split("</section>")[0]
    names = re.findall(r'<th scope="row">(.*?)</th>', section)
    assert len(names) == len(set(names)) == 24
    assert max(map(len, names)) <= LONGEST


def test_a_p_value_is_never_zero():
    assert report_arms._p(0.0) == "p < 1e-300"
    assert report_arms._p(0.0421) == "p = 0.0421"


def test_versions_that_say_nothing_are_left_out():
    manifest = {"numerics": {"blas": "mkl", "mkl_instructions": ""}, "git": None, "measures": ["fit", "norms"]}
    assert versions(manifest) == [("numerics.blas", "mkl"), ("measures", "fit, norms")]
