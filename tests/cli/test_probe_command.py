"""`grokscope probe`: lists probes, prints what one finds in runs, refuses what cannot be read."""

import json
from base64 import b64decode

import pytest

from grokscope.probes import StoredRun, probes
from grokscope.store import find_run
from grokscope.store.blocks import numbers_of

TINY = [
    *("--set", "task.p=7", "--set", "task.alphabet=3", "--set", "task.train_fraction=0.6"),
    *("--set", "model.d=8", "--set", "model.d_mlp=16", "--set", "epochs=12", "--set", "log.every=5"),
]


@pytest.fixture
def trained(run):
    """Ids of two runs with checkpoints at 5, 10 and 12."""
    return [r["id"] for r in json.loads(run("train", *TINY, "--set", "log.keep=5", "--seeds", "2", "--json")[1])]


def test_alone_it_lists_the_probes(run):
    code, out, _ = run("probe")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(probes.entries())
    assert {"jaccard", "masks", "neurons", "progress", "spectra"} <= set(probes.entries())
    described = {p["name"]: p["about"] for p in json.loads(run("probe", "--json")[1])}
    assert list(described) == list(probes.entries())
    assert all(described.values())
    assert "jaccard" in run("list", "probes")[1]


def test_a_table_a_run(run, trained, tmp_path):
    code, out, _ = run("probe", "jaccard", trained[0][:6], trained[1])
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("run ")] == [f"run {id}" for id in trained]
    rows = json.loads(run("probe", "jaccard", *trained, "--json")[1])
    assert [row["run"] for row in rows] == [id for id in trained for _ in range(len(rows) // 2)]
    own = [{k: v for k, v in row.items() if k != "run"} for row in rows if row["run"] == trained[1]]
    assert own == probes.get("jaccard")(StoredRun(find_run(tmp_path / "runs", trained[1]))).to_dict("records")
    assert f"{own[0]['distance']:.4g}" in out


def test_matrices_are_sizes_in_text_and_base64_in_json(run, trained):
    out = run("probe", "masks", trained[0])[1]
    assert "W_in" in out
    assert "8 × 16" in out
    assert "128 bytes" in out
    row = next(r for r in json.loads(run("probe", "masks", trained[0], "--json")[1]) if r["layer"] == "W_in")
    assert numbers_of(row | {"numbers": b64decode(row["numbers"])}).shape == (8, 16)


def test_what_cannot_be_read_is_said_in_one_line(run, trained):
    assert run("probe", "jacard", trained[0])[::2] == (2, "probe: no probe is called 'jacard'. Did you mean jaccard?\n")
    code, _, err = run("probe", "jaccard")
    assert code == 2
    assert err == "RUN: name the runs to analyse with probe jaccard; `grokscope runs` lists them\n"
    (plain,) = [r["id"] for r in json.loads(run("train", *TINY, "--seeds", "7,", "--json")[1])]
    code, _, err = run("probe", "jaccard", plain)
    assert (code, err) == (2, f"run {plain} has 1 checkpoint, and this probe needs 2: train it with log.keep\n")
