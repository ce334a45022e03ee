"""One bad run never hides the others, and never vanishes unmentioned: each command that reads runs names it once."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from grokscope.store import list_runs, load_runs

OLD = Path(__file__).parents[1] / "golden" / "old_runs"
BAD, GOOD, FOREIGN = "ef545d9aed36", "93419581edf4", "6e436632d83a"
"""A run to damage, one that is left alone, and one of a task that is not registered."""
ADVICE = f"`grokscope check {BAD}` shows what is damaged, `grokscope rm {BAD}` deletes it"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    shutil.copytree(OLD, folder)
    return folder


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


DAMAGE: dict[str, Callable[[Path], None]] = {
    "state.json, one bit": lambda run: flip(run / "state.json"),
    "config.json, missing": lambda run: (run / "config.json").unlink(),
    "manifest.json, empty": lambda run: (run / "manifest.json").write_bytes(b""),
    "metrics, one bit": lambda run: flip(next((run / "metrics").iterdir())),
    "metrics, missing": lambda run: next((run / "metrics").iterdir()).unlink(),
}
IN_METRICS = [name for name in DAMAGE if name.startswith("metrics")]


def named_once(err: str) -> None:
    """Assert that stderr names the damaged run in one line, with what to do."""
    lines = [line for line in err.splitlines() if BAD in line]
    assert len(lines) == 1, err
    assert lines[0].endswith(ADVICE)


@pytest.mark.parametrize("damage", DAMAGE)
def test_tables_list_the_others(run, runs, damage):
    DAMAGE[damage](runs / BAD)
    # another threshold than that of the summary, so that the metrics are read
    code, out, err = run("runs", "--runs", runs, "--threshold", "0.5")
    assert code == 0
    assert all(id in out for id in (GOOD, FOREIGN, BAD))
    named_once(err)
    code, out, err = run("runs", "--runs", runs, "--threshold", "0.5", "--json")
    assert code == 0
    named_once(err)
    objects = {plain["id"]: plain for plain in json.loads(out)}
    assert [id for id, plain in objects.items() if "problem" in plain] == [BAD]
    assert objects[BAD]["t_mem"] is None


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_run_does_not_vanish_from_a_selection(run, runs, damage):
    DAMAGE[damage](runs / BAD)
    _, out, err = run("runs", "--runs", runs, "--threshold", "0.5", "--where", "seed=0")
    assert BAD in out
    named_once(err)


@pytest.mark.parametrize("damage", DAMAGE)
def test_load_runs_warns_once(runs, damage):
    whole = load_runs(runs)
    DAMAGE[damage](runs / BAD)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rest = load_runs(runs)
    assert len(caught) == 1
    named_once(str(caught[0].message))
    for id in (GOOD, FOREIGN):
        own = whole[whole["run"] == id]["epoch"]
        assert list(rest[rest["run"] == id]["epoch"]) == list(own)
    assert set(rest["run"]) == {GOOD, FOREIGN}


@pytest.mark.parametrize("damage", ["state.json, one bit", "metrics, one bit"])
def test_a_report_shows_the_others(run, runs, tmp_path, damage):
    DAMAGE[damage](runs / BAD)
    page = tmp_path / "page.html"
    code, _, err = run("report", "--runs", runs, "--figure", "mlp-norm", "-o", page)
    assert code == 0
    named_once(err)
    html = page.read_text()
    assert f"<code>{GOOD}</code>" in html and f"<code>{FOREIGN}</code>" in html
    assert f"<code>{BAD}</code>" not in html
    assert '<h2 id="omitted">' in html and "</a>Omitted runs</h2>" in html
    assert html.count(f"grokscope check {BAD}") == 1
    code, _, err = run("report", GOOD, BAD, "--runs", runs, "--figure", "mlp-norm", "-o", page)
    assert code == 1
    named_once(err)
    assert f"<code>{GOOD}</code>" in page.read_text()


def test_a_report_of_damaged_runs_alone_is_an_error(run, runs, tmp_path):
    flip(runs / BAD / "state.json")
    code, _, err = run("report", BAD, "--runs", runs, "-o", tmp_path / "page.html")
    assert code == 2
    named_once(err)
    assert not (tmp_path / "page.html").exists()


def test_runs_of_an_unknown_component_are_named_in_one_line(run, runs, tmp_path):
    code, _, err = run("report", "--runs", runs, "--figure", "mlp-norm", "-o", tmp_path / "page.html")
    assert code == 0
    assert err.count(FOREIGN) == 1
    assert "load its file with --load" in err
    assert f"<code>{FOREIGN}</code>" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("damage", ["state.json, one bit", "metrics, missing"])
def test_an_audit_shows_the_others(run, runs, damage):
    DAMAGE[damage](runs / BAD)
    code, out, err = run("audit", "--runs", runs, "--json")
    assert code == 0
    named_once(err)
    assert [audit["run"] for audit in json.loads(out)] == [GOOD]
    assert "load its file with --load" in next(line for line in err.splitlines() if FOREIGN in line)
    code, out, _ = run("audit", GOOD, BAD, "--runs", runs)
    assert code == 1
    assert f"run {GOOD}:" in out


@pytest.mark.parametrize("damage", DAMAGE)
def test_show_says_what_is_wrong(run, runs, damage):
    DAMAGE[damage](runs / BAD)
    code, out, err = run("show", BAD, "--runs", runs)
    assert code == 1
    named_once(err)
    assert ("task.p" in out) == (damage in IN_METRICS)
    code, out, err = run("show", BAD, "--runs", runs, "--json")
    assert code == 1
    named_once(err)
    assert json.loads(out)["problem"]


def test_many_damaged_runs_are_counted_in_one_line(run, runs):
    copies = [f"{number:012x}" for number in range(5)]
    for id in copies:
        shutil.copytree(runs / BAD, runs / id)
        (runs / id / "state.json").write_text("{")
    code, _, err = run("runs", "--runs", runs)
    assert code == 0
    (line,) = [line for line in err.splitlines() if copies[0] in line]
    assert line.startswith(f"5 runs cannot be read ({', '.join(copies[:3])} and 2 more); the first: ")
    assert line.endswith("`grokscope check RUN` shows what is damaged, `grokscope rm RUN` deletes it")
    assert copies[3] not in err


def test_a_run_deleted_meanwhile_is_not_damaged(runs, monkeypatch):
    from grokscope.store import catalogue, frames

    read = catalogue.read_run

    def delete_first(path: Path):
        if path.name == BAD:
            shutil.rmtree(path)
        return read(path)

    listed = list_runs(runs)
    shutil.rmtree(runs / GOOD)
    errors = [str(table) for table in frames.read_each(listed) if isinstance(table, Exception)]
    assert errors == [f"run {GOOD}: deleted while it was being read"]
    monkeypatch.setattr(catalogue, "read_run", delete_first)
    assert [run.id for run in list_runs(runs)] == [FOREIGN]


@pytest.mark.parametrize("command", ["runs", "show", "report", "audit"])
def test_the_rule_of_exit_codes_is_in_the_help(run, command):
    _, out, _ = run(command, "--help")
    assert "named on stderr and omitted" in " ".join(out.split())


def test_a_failed_run_says_why(tmp_path, capsys):
    from grokscope.cli.run_table import as_objects, table_of_runs
    from grokscope.store import RunInfo

    failed = RunInfo(id="3f9a", path=tmp_path, status="failed", epoch=40, config={"seed": 0}, reason="disk full")
    done = RunInfo(id="77bc", path=tmp_path, status="done", epoch=90, config={"seed": 1})
    for info in (failed, done):
        info.summary.update(summary_without_grokking())
    table_of_runs([failed, done])
    out, err = capsys.readouterr()
    assert err == "run 3f9a failed at epoch 40: disk full\n"
    assert [line.split()[5] for line in out.splitlines()[1:3]] == ["failed", "never"]
    first, second = as_objects([failed, done])
    assert first["reason"] == "disk full"
    assert "reason" not in second


def summary_without_grokking() -> dict[str, object]:
    """The summary of a run that memorised and did not grok."""
    from grokscope.analysis import summary_of

    columns = {"epoch": [0, 50, 200], "train_accuracy": [0.0, 1.0, 1.0], "test_accuracy": [0.0, 0.1, 0.2]}
    return summary_of(columns)


def test_a_damaged_run_hides_no_column(run, runs):
    """Columns are the settings in which the readable runs differ."""
    DAMAGE["state.json, one bit"](runs / BAD)
    header, *rows = run("runs", "--runs", runs)[1].splitlines()[:4]
    assert header.split()[1:5] == ["task", "lr", "beta", "seed"]
    assert [row.split()[2] for row in rows if BAD not in row] == ["0.01", "0.001"]
