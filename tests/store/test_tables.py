"""Metric tables of one run and of all."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_run import CONFIG, ID, open_run, row, save_next, tensors

from grokscope.errors import StoreError
from grokscope.store import find_run, load_runs, read_metrics, tables
from grokscope.store.layout import PartFile, label, part_files

values = st.none() | st.floats() | st.integers(-(2**63), 2**63 - 1)


@settings(max_examples=25, deadline=None)
@given(columns=st.dictionaries(st.text(min_size=1, max_size=4), st.lists(values, min_size=3, max_size=3), max_size=3))
def test_rows_come_back(tmp_path_factory: pytest.TempPathFactory, columns: dict[str, list[Any]]) -> None:
    rows = [{"epoch": e, **{name: column[e] for name, column in columns.items()}} for e in range(3)]
    path = tmp_path_factory.getbasetemp() / "part"
    path.write_bytes(tables.encode(rows, label(path)))
    table = tables.read_part(PartFile(0, 2, path))
    assert table.column_names == list(rows[0])
    for name, column in columns.items():
        whole = all(isinstance(v, int) for v in column if v is not None) and column != [None] * 3
        assert table.schema.field(name).type == (pa.int64() if whole else pa.float64())
        for read, given_ in zip(table.column(name).to_pylist(), column, strict=True):
            wanted = given_ if whole or given_ is None else float(given_)
            assert read == wanted or (math.isnan(read) and math.isnan(wanted))


def test_parts_with_different_columns_become_one_table(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        run.save(1, [{"epoch": 1, "loss": 2, "early": 7}], tensors(1), {}, {})
        run.save(2, [{"epoch": 2, "loss": 0.5, "late": None}], tensors(2), {}, {})
        numpy_row: Any = {"loss": math.nan, "epoch": np.int64(3), "late": np.float32(0.25)}
        run.save(3, [numpy_row], tensors(3), {}, {})
        table = run.metrics()
    whole, real = pa.int64(), pa.float64()
    assert table.schema == pa.schema([("epoch", whole), ("loss", real), ("early", whole), ("late", real)])
    assert table.column("epoch").to_pylist() == [1, 2, 3]
    assert table.column("early").to_pylist() == [7, None, None]
    assert table.column("late").to_pylist() == [None, None, 0.25]
    assert table.column("loss").null_count == 0
    assert table.column("loss").to_pylist()[:2] == [2.0, 0.5]
    assert math.isnan(table.column("loss")[2].as_py())


def test_metrics_can_be_read_while_the_run_trains(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        for epoch in (2, 4, 6):
            save_next(run)
            assert read_metrics(find_run(tmp_path, ID)).column("epoch").to_pylist() == list(range(1, epoch + 1))


def test_a_part_dropped_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_run(tmp_path) as run:
        save_next(run)
    beyond = tmp_path / ID / "metrics" / "part-000000003-000000003.parquet"
    beyond.write_bytes(tables.encode([row(3)], label(beyond)))
    listed = []

    def drop_after_listing(path: Path) -> list[PartFile]:
        listed.append(part_files(path))
        if len(listed) == 1:
            os.unlink(beyond)
        return listed[-1]

    monkeypatch.setattr(tables, "part_files", drop_after_listing)
    assert read_metrics(find_run(tmp_path, ID)).column("epoch").to_pylist() == [1, 2]
    assert [len(parts) for parts in listed] == [2, 1]
    monkeypatch.setattr(tables, "part_files", lambda path: [PartFile(3, 3, beyond)])
    with pytest.raises(StoreError, match="disappear while they are read"):
        read_metrics(find_run(tmp_path, ID))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    kl = {**CONFIG, "model": {"norms": ["query", "key"], "causal": True}}
    none = {"task": {**CONFIG["task"], "alphabet": "operands"}, "prior": {"kind": "none"}, "seed": 1}
    noise = {"task": {**CONFIG["task"], "alphabet": 16}, "prior": {"kind": "noise", "beta": 1}, "seed": 2}
    for id, config in (("a", kl), ("b", none), ("c", noise)):
        with open_run(tmp_path, id=id, config=config) as run:
            save_next(run)
    with open_run(tmp_path, id="a", config=kl) as run:
        run.save(3, [{"epoch": 3, "loss": 0.5, "D": 0.125}], tensors(3), {}, {}, status="grokked")
    open_run(tmp_path, id="no rows yet").close()
    return tmp_path


def test_all_runs_in_one_table(runs: Path) -> None:
    table = load_runs(runs)
    assert isinstance(table, pd.DataFrame)
    assert list(table["run"]) == ["a", "a", "a", "b", "b", "c", "c"]
    assert list(table["epoch"]) == [1, 2, 3, 1, 2, 1, 2]
    assert list(table["status"]) == ["grokked"] * 3 + ["stopped"] * 4
    assert list(table["task.p"]) == [59] * 7
    assert table["task.p"].dtype == np.int64
    assert list(table["seed"]) == [0, 0, 0, 1, 1, 2, 2]
    assert table["prior.beta"].tolist()[:3] == [0.3] * 3
    assert table["prior.beta"].isna().sum() == 2
    assert list(table["prior.kind"]) == ["kl"] * 3 + ["none"] * 2 + ["noise"] * 2
    assert list(table["task.alphabet"])[3:] == ["operands", "operands", "16", "16"]
    assert list(table["model.norms"])[:3] == ["query,key"] * 3
    assert list(table["model.causal"])[:3] == [True] * 3
    assert table["D"].isna().tolist() == [True, True, False, True, True, True, True]


def test_the_same_as_an_arrow_table(runs: Path) -> None:
    table = load_runs(runs, arrow=True)
    assert isinstance(table, pa.Table)
    assert table.schema.field("task.p").type == pa.int64()
    assert table.schema.field("prior.beta").type == pa.float64()
    assert table.schema.field("model.causal").type == pa.bool_()
    assert table.schema.field("task.alphabet").type == pa.string()
    assert table.column_names.index("epoch") > table.column_names.index("seed")
    pd.testing.assert_frame_equal(table.to_pandas(), load_runs(runs))


def test_an_empty_folder_of_runs(tmp_path: Path) -> None:
    assert load_runs(tmp_path, arrow=True).column_names == ["run", "status", "epoch"]
    assert len(load_runs(tmp_path)) == 0
