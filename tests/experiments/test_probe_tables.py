"""What of the probes is stored with the results."""

from pathlib import Path

import pandas as pd
import pytest
import torch

from grokscope.experiments import collect
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
    assert collect.probe_tables(["threads"], [run], ["dense"])["threads"]["threads"].tolist() == [2]
    assert torch.get_num_threads() == 4
    monkeypatch.setattr(probes, "get", lambda name: lambda stored: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        collect.probe_tables(["broken"], [run], ["dense"])
    assert torch.get_num_threads() == 4


def test_large_tables_are_kept_of_the_lowest_seed_alone(monkeypatch):
    runs = [RunInfo(id=f"run{seed}", path=Path("nowhere"), status="done", config={"seed": seed}) for seed in (3, 4)]
    monkeypatch.setattr(probes, "get", lambda name: lambda stored: pd.DataFrame({"epoch": [10]}))
    tables = collect.probe_tables(["jaccard", "masks"], runs, ["dense", "dense"])
    assert tables["jaccard"][["run", "arm", "seed"]].to_numpy().tolist() == [["run3", "dense", 3], ["run4", "dense", 4]]
    assert tables["masks"]["run"].tolist() == ["run3"]
