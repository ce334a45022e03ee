"""The committed results: the ledger and the gallery in the docs are what they say."""

import html
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from grokscope.experiments import all_experiments
from grokscope.experiments.ledger import as_markdown, fits, load_ledger
from grokscope.settings import flatten
from grokscope.store.results import load_results

ROOT = Path(__file__).parents[2]
STALE = "stored results are stale; grokscope reproduce NAME --full renews them"


@pytest.fixture(scope="module")
def ledger():
    return load_ledger(ROOT / "results", "full")


@pytest.fixture(scope="module")
def rows(ledger):
    return ledger.rows()


def test_the_ledger_is_rebuilt_from_the_results(ledger, rows):
    assert as_markdown(ledger, rows) == (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(all_experiments()))
def test_every_experiment_has_full_results_of_all_its_arms(name):
    experiment = all_experiments()[name]
    results = load_results(ROOT / "results", name, "full")
    if results is None or not fits(experiment, results) or "steps" not in results.runs:
        pytest.skip(STALE)
    asked = {(arm, config.seed): config for arm, config in experiment.configs("full")}
    stored = results.runs.set_index(["arm", "seed"])
    assert set(asked) == set(stored.index)
    assert results.runs["run"].nunique() == len(asked)
    # the settings rather than the ids: how ids are made may have changed since
    for key, config in asked.items():
        settings = flatten(config.to_dict())
        for name in (set(stored.columns) & set(settings)) - {"prior.teacher", "ticket.run"}:
            assert _same(stored.at[key, name], settings[name]), (key, name)
    assert (results.runs.groupby("arm").size() >= 5).all()
    assert set(results.curves["run"]) == set(results.runs["run"])


def _same(stored, value):
    return str(stored) == str(value) or (pd.isna(stored) and value is None) or float(stored) == float(value)


def test_the_results_are_small(ledger):
    sizes = [file.stat().st_size for file in (ROOT / "results").glob("*/full/*.parquet")]
    assert sizes and sum(sizes) < 12_000_000


def test_the_gallery_in_the_docs_says_what_the_ledger_says(ledger, rows):
    path = ROOT / "docs" / "gallery.html"
    assert path.stat().st_size < 4_500_000
    page = html.unescape(path.read_text(encoding="utf-8"))
    assert ledger.summary() in page
    for row in rows:
        for cell in ("statement", "verdict", "measured", "test", "rule"):
            assert row[cell] in page, (row["experiment"], row["claim"], cell)
        assert f"<td>{row['verdict']}</td><td>{row['measured']}\n" in page, (row["experiment"], row["claim"])


def test_the_gallery_shows_every_picture(ledger, rows):
    """One picture of one experiment stands for all: drawing all takes minutes."""
    from grokscope.experiments.gallery import gallery

    (found,) = [pair for pair in ledger.found if pair[0].name == "si-dial"]
    chosen = {name: figure for name, figure in found[0].pictures.items() if name != "times"}
    one = ledger._replace(found=[(replace(found[0], pictures=chosen), found[1])])
    page = gallery(one, [row for row in rows if row["experiment"] == "si-dial"], "grokscope claims -o gallery.html")
    assert found[0].question in page
    assert "q = 64, no prior: 0 of " in page  # in the alternative text
    assert page.count("data:image/webp") == len(chosen) > 0


def test_damaged_results_do_not_hide_the_others(tmp_path, ledger, capsys):
    from grokscope.cli import main

    kept = [experiment.name for experiment, _ in ledger.found][:3]
    for name in kept:
        shutil.copytree(ROOT / "results" / name / "full", tmp_path / name / "full")
    bad = tmp_path / kept[1] / "full" / "runs.parquet"
    content = bytearray(bad.read_bytes())
    content[len(content) // 2] ^= 1
    bad.write_bytes(content)
    found = load_ledger(tmp_path, "full")
    assert [experiment.name for experiment, _ in found.found] == [kept[0], kept[2]]
    assert list(found.damaged) == [kept[1]]
    with pytest.raises(SystemExit) as ended:
        main(["claims", "--results", str(tmp_path), "--json"])
    out, err = capsys.readouterr()
    assert ended.value.code == 0
    assert {row["experiment"] for row in json.loads(out)} == {kept[0], kept[2]}
    (line,) = [line for line in err.splitlines() if kept[1] in line]
    assert line.endswith(f"`grokscope reproduce {kept[1]} --full` stores it again from its runs")
    shutil.rmtree(tmp_path / kept[0])
    shutil.rmtree(tmp_path / kept[2])
    with pytest.raises(SystemExit) as ended:
        main(["claims", "--results", str(tmp_path)])
    assert ended.value.code == 2
    assert "none of the full results can be read" in capsys.readouterr().err
