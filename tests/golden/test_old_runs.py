"""Runs whose settings an older version stored (fewer than there are now) are listed, shown, reported, loaded and probed.

In `old_runs/`: a run with a prior and kept checkpoints, one with linear attention, and one with a task of somebody's own file,
which is not there any more.
"""

import json
import shutil
from pathlib import Path

import pytest

import grokscope
from grokscope.config import RunConfig, stored
from grokscope.config.stored import read_stored
from grokscope.errors import StoreError
from grokscope.probes import StoredRun, probes
from grokscope.store import RunFolder, find_run, list_runs, read_metrics
from grokscope.store.layout import label
from grokscope.store.seal import sealed_json

OLD = Path(__file__).with_name("old_runs")
PRIOR, LINEAR, OWN_TASK = "93419581edf4", "ef545d9aed36", "6e436632d83a"


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "_told", set())
    return Path(shutil.copytree(OLD, tmp_path / "runs"))


def with_setting(runs, id, component, **settings):
    """Write a setting into a stored config."""
    path = runs / id / "config.json"
    plain = json.loads(path.read_text())
    (plain[component] if component else plain).update(settings)
    store_config(path, plain)


def store_config(path, plain):
    plain.pop("checksum", None)
    path.write_bytes(sealed_json(plain, label(path)))


def test_all_are_listed_and_shown(run, runs):
    code, out, _ = run("runs")
    assert code == 0
    for id in (PRIOR, LINEAR, OWN_TASK):
        assert id in out
        code, shown, err = run("show", id)
        assert (code, err) == (0, "")
        assert "task.p" in shown
    assert {info.status for info in list_runs(runs)} == {"done"}


def test_a_page_about_all_of_them_is_written(run, runs):
    code, _, err = run("report", "--output", "page.html")
    assert code == 0
    assert err.startswith(f"run {OWN_TASK}: task: no task is called 'mirror'.")
    assert err.endswith("if it is your own, load its file with --load\n")
    assert err.count("\n") == 1
    page = Path("page.html").read_text()
    assert all(id in page for id in (PRIOR, LINEAR, OWN_TASK))


def test_all_are_loaded_as_one_table(runs):
    table = grokscope.load_runs(runs)
    assert set(table["run"]) == {PRIOR, LINEAR, OWN_TASK}
    assert set(table["epoch"]) == {0, 10, 20, 30, 40}


def test_their_checkpoints_are_probed(run, runs):
    table = probes.get("jaccard")(StoredRun(find_run(runs, PRIOR)))
    assert len(table) > 0
    code, _, err = run("probe", "jaccard", PRIOR)
    assert (code, err) == (0, "")
    code, _, err = run("probe", "masks", OWN_TASK)
    assert code == 2
    assert err.startswith(f"run {OWN_TASK}: task: no task is called 'mirror'.")


def test_unknown_settings_are_named_once_with_their_run(run, runs):
    with_setting(runs, PRIOR, "model", shimmer=3)
    with_setting(runs, PRIOR, "", glow=True)
    shutil.rmtree(runs / OWN_TASK)
    code, _, err = run("report", "--output", "page.html")
    assert (code, err) == (0, f"run {PRIOR}: unknown setting model.shimmer, glow: ignored\n")
    assert "shimmer" in run("show", PRIOR)[1]


def test_what_is_ignored_is_returned_with_the_config(runs):
    with_setting(runs, PRIOR, "model", shimmer=3)
    config, ignored = RunConfig.stored(find_run(runs, PRIOR).config, PRIOR)
    assert ignored == ["model.shimmer"]
    assert (config.task.p, config.prior.beta, config.data_seed) == (5, 0.3, None)
    assert config.check().id == PRIOR, "settings that were added later stay out of the id"


def test_a_component_that_was_changed_since_is_named(runs, capsys):
    with_setting(runs, PRIOR, "task", p=7)
    read_stored(find_run(runs, PRIOR).config, PRIOR)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"run {PRIOR}: its settings now belong to run ")


def test_a_value_that_became_invalid_is_an_error_not_a_default(runs):
    with_setting(runs, PRIOR, "prior", target="oracel")
    with pytest.raises(StoreError, match=f"^run {PRIOR}: prior.target: 'oracel' is not a valid choice"):
        read_stored(find_run(runs, PRIOR).config, PRIOR)


def test_runs_of_both_versions_differ_only_in_what_was_set(run, runs):
    """A setting that did not exist when a run was stored has its default: both runs are of one condition."""
    shutil.rmtree(runs / OWN_TASK)
    shutil.rmtree(runs / LINEAR)
    again = RunConfig.stored(find_run(runs, PRIOR).config, PRIOR)[0].to_dict()
    assert again != find_run(runs, PRIOR).config, "the new version has more settings"
    with RunFolder.create_or_open(runs, "c0ffee", again, device="cpu") as copy:
        rows = read_metrics(find_run(runs, PRIOR)).to_pylist()
        copy.save(40, rows, {}, {}, find_run(runs, PRIOR).summary, status="done")
    assert run("report", "--output", "page.html")[0] == 0
    assert "all runs: " in Path("page.html").read_text()
