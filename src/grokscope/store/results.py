"""Results of experiments, compact enough for a repository: one row per run, and thinned curves, as Parquet."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import StoreError
from .disk import make_folder, write, write_json

if TYPE_CHECKING:
    import pandas as pd


class Results(NamedTuple):
    """Stored results of an experiment."""

    about: dict[str, Any]
    """Experiment, scale, versions, device, run-steps and seconds."""
    runs: pd.DataFrame
    """One row per run."""
    curves: pd.DataFrame
    """Thinned metrics of all runs, with a column `run`."""
    probes: Mapping[str, pd.DataFrame] = MappingProxyType({})
    """Results of probes on the runs' checkpoints, by name of the probe, with columns `run`, `arm` and `seed`."""


def save_results(folder: Path, results: Results) -> Path:
    """Write to <folder>/<experiment>/<scale>/."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    target = folder / results.about["experiment"] / results.about["scale"]
    make_folder(target)
    tables: dict[str, pd.DataFrame] = {"runs": results.runs, "curves": results.curves}
    for name, table in (tables | {f"probe-{name}": table for name, table in results.probes.items()}).items():
        sink, own = pa.BufferOutputStream(), pa.Table.from_pandas(table, preserve_index=False)
        # bytes of equal significance next to each other: the last ones of shortened numbers are all zero
        split = [field.name for field in own.schema if field.type == pa.float32()]
        words = [field.name for field in own.schema if field.name not in split]
        pq.write_table(
            own, sink, compression="zstd", compression_level=19, use_dictionary=words, use_byte_stream_split=split
        )
        write(target / f"{name}.parquet", sink.getvalue().to_pybytes())
    write_json(target / "about.json", results.about)
    return target


def load_results(folder: Path, experiment: str, scale: str) -> Results | None:
    """Stored results of an experiment at a scale; None if it was not run."""
    import pandas as pd

    target = folder / experiment / scale
    if not (target / "about.json").exists():
        return None
    try:
        about = json.loads((target / "about.json").read_text(encoding="utf-8"))
        runs, curves = (pd.read_parquet(target / f"{name}.parquet") for name in ("runs", "curves"))
        looked = {file.stem.removeprefix("probe-"): pd.read_parquet(file) for file in target.glob("probe-*.parquet")}
    except (OSError, ValueError) as error:
        raise StoreError(f"{target}: damaged results ({error})") from error
    return Results(about, runs, curves, looked)
