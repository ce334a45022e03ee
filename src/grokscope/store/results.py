"""Results of experiments, compact enough for a repository: one row per run, and thinned curves, as Parquet.

<results>/<experiment>/<scale>/ holds about.json, which is sealed and names every other file with its checksum. It is published as
a whole: a complete new folder is written beside the old one and takes its place by renaming. A crash between the two renames
leaves the old folder under a hidden name, where readers and the next publication find it.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ResultsChangedError, StoreError
from .disk import cannot_write, damaged, listing, make_folder, read, reason, sync_folder, write
from .seal import WRONG, checksum, read_sealed_json, sealed_json

if TYPE_CHECKING:
    import pandas as pd

ABOUT = "about.json"
FILES = "files"
"""Key of about.json: the checksum of every other file by name."""


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


def save_results(folder: Path, results: Results, *, replaces: str | None = None) -> Path:
    """Publish in <folder>/<experiment>/<scale>/, all files or none. Other files there, such as pictures, stay.

    replaces   version of the results that these are made of (`results_version`); ResultsChangedError, and nothing is written, if
               others have been published meanwhile
    """
    target = folder / results.about["experiment"] / results.about["scale"]
    tables = {"runs": results.runs, "curves": results.curves}
    tables |= {f"probe-{name}": table for name, table in results.probes.items()}
    content = {f"{name}.parquet": _encode(table) for name, table in tables.items()}
    about = {key: value for key, value in results.about.items() if key != FILES}
    about[FILES] = {name: checksum(data, label(target, name)) for name, data in content.items()}
    content[ABOUT] = sealed_json(about, label(target, ABOUT))
    make_folder(target.parent)
    with _locked(target.parent, fcntl.LOCK_EX):
        if replaces is not None and _version(target) != replaces:
            raise ResultsChangedError(f"{target}: replaced by another process")
        _publish(target, content)
    return target


def results_version(folder: Path, experiment: str, scale: str) -> str:
    """Which results of an experiment are stored: a text that differs from that of all others, empty if there are none."""
    target = folder / experiment / scale
    if not target.parent.is_dir():
        return ""
    with _locked(target.parent, fcntl.LOCK_SH):
        return _version(target)


def _version(target: Path) -> str:
    about = _place(target) / ABOUT
    return checksum(read(about), label(target, ABOUT)) if about.exists() else ""


def load_results(folder: Path, experiment: str, scale: str) -> Results | None:
    """Stored results of an experiment at a scale, verified; None if it was not run."""
    import pandas as pd

    target = folder / experiment / scale
    if not target.parent.is_dir():
        return None
    with _locked(target.parent, fcntl.LOCK_SH):
        content = _read(target)
    if content is None:
        return None
    about, files = content
    try:
        tables = {name.removesuffix(".parquet"): pd.read_parquet(io.BytesIO(data)) for name, data in files.items()}
        probes = {name.removeprefix("probe-"): table for name, table in tables.items() if name.startswith("probe-")}
        return Results(about, tables["runs"], tables["curves"], probes)
    except (OSError, ValueError, KeyError) as error:
        raise damaged(target, error) from error


def stored_results(folder: Path) -> list[tuple[str, str]]:
    """Experiment and scale of all results in a folder."""
    return [
        (experiment.name, scale)
        for experiment in sorted(listing(folder))
        if experiment.is_dir()
        for scale in ("full", "quick")
        if (experiment / scale).exists() or _aside(experiment / scale).exists()
    ]


def label(target: Path, name: str) -> str:
    """The label under which a file of results is sealed: experiment, scale and name."""
    return f"results {target.parent.name}/{target.name}/{name}"


def _read(target: Path) -> tuple[dict[str, Any], dict[str, bytes]] | None:
    """about.json and the other files, verified; None if there are none."""
    place = _place(target)
    if not any(path.name == ABOUT or path.suffix == ".parquet" for path in listing(place)):
        return None
    about = read_sealed_json(place / ABOUT, label(target, ABOUT))
    files = {}
    for name, expected in about.pop(FILES, {}).items():
        files[name] = read(place / name)
        if checksum(files[name], label(target, name)) != expected:
            raise damaged(place / name, WRONG)
    return about, files


def _publish(target: Path, content: Mapping[str, bytes]) -> None:
    draft, aside = target.with_name(f".new-{target.name}"), _aside(target)
    try:
        if aside.exists() and not target.exists():  # a publication was killed between its renames
            os.rename(aside, target)
        for leftover in (draft, aside):
            if leftover.exists():
                shutil.rmtree(leftover)
        make_folder(draft)
        for path in listing(target):
            if path.name != ABOUT and path.suffix != ".parquet":
                copy = shutil.copytree if path.is_dir() and not path.is_symlink() else shutil.copy2
                copy(path, draft / path.name)
        for name, data in content.items():
            write(draft / name, data)
        if target.exists():
            os.rename(target, aside)
        try:
            os.rename(draft, target)
        except OSError:
            if aside.exists():
                os.rename(aside, target)
            raise
        sync_folder(target.parent)
        shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        raise cannot_write(target, error) from error
    except StoreError:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _place(target: Path) -> Path:
    """Where the results are: a publication may have been killed between its renames."""
    return target if target.exists() else _aside(target)


def _aside(target: Path) -> Path:
    """Where the previous results are while new ones take their place."""
    return target.with_name(f".old-{target.name}")


@contextlib.contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    """One publication at a time, and none while a reader is between two files (LOCK_SH)."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be read ({reason(error)})") from error
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


def _encode(table: pd.DataFrame) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink, own = pa.BufferOutputStream(), pa.Table.from_pandas(table, preserve_index=False)
    # bytes of equal significance next to each other: the last ones of shortened numbers are all zero
    split = [field.name for field in own.schema if field.type == pa.float32()]
    words = [field.name for field in own.schema if field.name not in split]
    pq.write_table(
        own, sink, compression="zstd", compression_level=19, use_dictionary=words, use_byte_stream_split=split
    )
    content: bytes = sink.getvalue().to_pybytes()
    return content
