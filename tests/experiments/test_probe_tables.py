"""What of the probes is stored with the results."""

import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch

from grokscope.errors import ConfigError
from grokscope.experiments import all_experiments, probing
from grokscope.launch.local import train_all
from grokscope.loading import load_file
from grokscope.probes import probes
from grokscope.store import RunInfo


@pytest.fixture
def four_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def test_probes_have_few_threads_and_give_them_back(monkeypatch, four_threads):
    run = RunInfo(id="run", path=Path("nowhere"), status="done", config={"seed": 0})
    monkeypatch.setattr(probes, "get", lambda name: lambda stored: pd.DataFrame({"threads": [torch.get_num_threads()]}))
    assert probing.probe_tables(["threads"], [run], ["dense"])["threads"]["threads"].tolist() == [2]
    assert torch.get_num_threads() == 4
    monkeypatch.setattr(probes, "get", lambda name: lambda stored: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        probing.probe_tables(["broken"], [run], ["dense"])
    assert torch.get_num_threads() == 4


def test_large_tables_are_kept_of_the_lowest_seed_alone(monkeypatch):
    runs = [RunInfo(id=f"run{seed}", path=Path("nowhere"), status="done", config={"seed": seed}) for seed in (3, 4)]
    monkeypatch.setattr(probes, "get", lambda name: lambda stored: pd.DataFrame({"epoch": [10]}))
    tables = probing.probe_tables(["jaccard", "masks"], runs, ["dense", "dense"])
    assert tables["jaccard"][["run", "arm", "seed"]].to_numpy().tolist() == [["run3", "dense", 3], ["run4", "dense", 4]]
    assert tables["masks"]["run"].tolist() == ["run3"]


OWN = """
import os

import pandas as pd
import torch
from grokscope.probes import probes


@probes.register("where")
def where(run):
    where = {"process": os.getpid(), "threads": torch.get_num_threads(), "numpy": os.environ.get("OPENBLAS_NUM_THREADS")}
    return pd.DataFrame([{"epoch": epoch, **where} for epoch in run.epochs])
"""


@pytest.mark.usefixtures("unload")
def test_long_work_is_shared_with_helpers_and_found_the_same(tiny, tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text(OWN)
    load_file(tmp_path / "own.py")
    (tmp_path / "own.py").write_text("raise RuntimeError  # changed since")
    runs = train_all([replace(tiny, seed=seed) for seed in range(4)], runs=tmp_path / "runs", device="cpu")
    all_experiments()  # one of them brings the probe si-audit
    arguments = (["compressibility", "where", "si-audit"], runs, ["a", "a", "b", "b"])
    alone = probing.probe_tables(*arguments, processes=2)  # a moment: no process is started
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setattr(probing, "LONG", 0.0)
    shared = probing.probe_tables(*arguments, processes=2)
    pd.testing.assert_frame_equal(shared["compressibility"], alone["compressibility"], rtol=1e-5)
    pd.testing.assert_frame_equal(shared["si-audit"].drop(columns="numbers"), alone["si-audit"].drop(columns="numbers"))
    assert set(alone["where"]["process"]) == {os.getpid()}
    own = shared["where"]
    assert list(own["arm"].drop_duplicates()) == ["a", "b"] and os.getpid() not in set(own["process"])
    assert set(own["threads"]) == {1} and set(own["numpy"]) == {"1"}


def test_an_error_of_a_helper_is_told_as_it_is(tiny, tmp_path, monkeypatch):
    runs = train_all([tiny, replace(tiny, seed=1)], runs=tmp_path, device="cpu")
    monkeypatch.setattr(probing, "LONG", -1.0)
    here = probing._evaluate
    monkeypatch.setattr(probing, "_evaluate", lambda name, run: here("masks" if name == "unheard" else name, run))
    with pytest.raises(ConfigError, match="no probe is called 'unheard'") as told:
        probing.probe_tables(["unheard"], runs, ["a", "a"], processes=2)
    assert told.value.field == "probe"
