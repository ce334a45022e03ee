"""What of the probes is stored with the results."""

from pathlib import Path

import pandas as pd

from grokscope.experiments import collect
from grokscope.store import RunInfo


def test_large_tables_are_kept_of_the_lowest_seed_alone(monkeypatch):
    runs = [RunInfo(id=f"run{seed}", path=Path("nowhere"), status="done", config={"seed": seed}) for seed in (3, 4)]
    monkeypatch.setattr(collect.probes, "get", lambda name: lambda stored: pd.DataFrame({"epoch": [10]}))
    tables = collect.probe_tables(["jaccard", "masks"], runs, ["dense", "dense"])
    assert tables["jaccard"][["run", "arm", "seed"]].to_numpy().tolist() == [["run3", "dense", 3], ["run4", "dense", 4]]
    assert tables["masks"]["run"].tolist() == ["run3"]
