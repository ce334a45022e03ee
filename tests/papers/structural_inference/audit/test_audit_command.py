"""`grokscope audit`, as a user types it, on a tiny run trained here."""

from __future__ import annotations

import json
import shutil

import pytest

from grokscope.papers.structural_inference.audit.probe import audit_table
from grokscope.run import StoredRun

TINY = [
    *("--set", "task.p=5", "--set", "task.alphabet=3", "--set", "task.train_fraction=0.6"),
    *("--set", "model.d=8", "--set", "model.d_mlp=16", "--set", "epochs=30", "--set", "log.every=5"),
    *("--set", "log.keep=10", "--set", "prior.beta=0.3", "--set", "optim.lr=0.01"),
]


@pytest.fixture
def trained(run):
    """Ids of two seeds."""
    return [r["id"] for r in json.loads(run("train", *TINY, "--seeds", "2", "--json")[1])]


def test_audit_says_every_statement_of_every_run(run, trained, tmp_path):
    code, out, err = run("audit", trained[0][:6])
    assert (code, err) == (0, "")
    assert out.startswith(f"run {trained[0]}: seed 0, 7 evaluations, 3 checkpoints, 80 pairs\n")
    for number in ("Thm 4.3", "Def. 4.1", "Cor. 4.5", "Lemma 5.1", "Def. 3.2", "Eq. 5", "Eq. 52", "Eq. 7, 53", "§5.1"):
        assert number in out
    assert "all 2 runs" not in out
    code, out, _ = run("audit", *trained, "-o", "out/page.html")
    assert code == 0
    assert "t_grok: test accuracy ≥ 99 %, held 100 epochs" in out
    assert "all 2 runs" in out
    assert out.endswith("page: out/page.html\n")
    page = (tmp_path / "out" / "page.html").read_text()
    assert "The theory, checked on these runs" in page
    assert page.count("<figure") == 9
    assert f"grokscope audit {trained[0]} {trained[1]} -o out/page.html" in page


def test_audit_as_json(run, trained):
    code, out, _ = run("audit", "--json")
    assert code == 0
    found = json.loads(out)
    assert sorted(a["run"] for a in found) == sorted(trained)
    for audit in found:
        assert set(audit) == {"run", "statements"}
        by_number = {s["number"]: s for s in audit["statements"]}
        assert len(by_number) == 9
        assert all(set(s) == {"number", "name", "verdict", "numbers", "text"} for s in audit["statements"])
        assert all(s["verdict"] in ("holds", "violated", "not applicable") for s in audit["statements"])
        # what is proved holds on a real run, however young
        assert by_number["Lemma 5.1"]["verdict"] == by_number["Def. 3.2"]["verdict"] == "holds"
        theorem = by_number["Thm 4.3"]["numbers"]
        assert theorem["gamma"] == pytest.approx(theorem["c"] / theorem["lipschitz_upper"] / theorem["delta_emb"])
        assert theorem["pair_least"] >= theorem["gamma"]
        assert theorem["exhaustive"] is True


def test_the_audit_as_a_probe_has_a_row_per_statement(run, trained, tmp_path):
    stored = StoredRun.find(tmp_path / "runs", trained[0])
    table = audit_table(stored).set_index("number")
    (found,) = json.loads(run("audit", trained[0], "--json")[1])
    assert list(table.index) == [s["number"] for s in found["statements"]]
    assert list(table["verdict"]) == [s["verdict"] for s in found["statements"]]
    assert (table["epoch"] == 30).all()
    theorem = json.loads(table["numbers"]["Thm 4.3"])
    assert theorem["gamma"] == next(s for s in found["statements"] if s["number"] == "Thm 4.3")["numbers"]["gamma"]


def test_a_page_with_json_prints_json_alone(run, trained, tmp_path):
    code, out, _ = run("audit", trained[0], "--json", "-o", "page.html")
    assert code == 0
    assert len(json.loads(out)) == 1
    assert "An audit of run" in (tmp_path / "page.html").read_text()


def test_help_teaches(run):
    code, out, _ = run("audit", "--help")
    assert code == 0
    assert "log.keep" in out


def test_bad_input_is_one_clear_line(run, trained, tmp_path):
    def refused(*words):
        code, out, err = run("audit", *words)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        return err

    assert "Did you mean" in refused("zzz")
    assert "nowhere" in refused("--runs", "nowhere")
    (tmp_path / "none").mkdir()
    assert "contains no runs" in refused("--runs", "none")
    folder = tmp_path / "runs" / trained[0]
    shutil.rmtree(folder / "checkpoints")
    assert "kept-000000010.safetensors: missing" in refused(trained[0])
    for part in (folder / "metrics").iterdir():
        part.unlink()
    assert "metrics: damaged (0 rows up to epoch 30, its state counts 7)" in refused(trained[0])
    damaged = next((tmp_path / "runs" / trained[1] / "checkpoints").iterdir())
    damaged.write_bytes(damaged.read_bytes()[:-3])
    assert damaged.name in refused(trained[1])


def test_runs_that_cannot_be_replayed_are_audited_without(run):
    deep = ["--set", "model.layers=2", "--set", "model.scope=causal"]
    (trained,) = json.loads(run("train", *TINY, *deep, "--json")[1])
    code, out, _ = run("audit", trained["id"], "--json")
    assert code == 0
    (audit,) = json.loads(out)
    by_number = {s["number"]: s for s in audit["statements"]}
    assert by_number["Thm 4.3"]["verdict"] == "not applicable"
    assert "more than one layer" in by_number["Thm 4.3"]["text"]
    assert by_number["Def. 3.2"]["verdict"] == "holds"
