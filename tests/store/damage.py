"""Ways to damage a file of a run, and ways to read runs: what the damage test combines.

A reader returns what it found by run, as plain data. After damage, what is found of a run must equal what was found before; if
it differs or is missing, the run must be named in an error, on stderr or in a warning.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import torch

from grokscope.cli import main
from grokscope.config import RunConfig, stored
from grokscope.errors import StoreError
from grokscope.probes import StoredRun, probes
from grokscope.store import RunFolder, find_run, kept_epochs, list_runs, load_runs, read_checkpoint, read_metrics
from grokscope.store.verification import check_run, run_like_folders

Found = dict[str, Any]
"""What a reader found, by run."""


class Reading(NamedTuple):
    """The result of a reader."""

    found: dict[str, str]
    text: str
    """Everything that was said besides: stderr, warnings, the error."""
    failed: bool


# ---- damage


class Damage(NamedTuple):
    """One way to damage one file."""

    name: str
    content: bytes | None
    """What the file holds afterwards; None if it is deleted."""


def damages(path: Path, others: list[Path], chance: random.Random, flips: int, cuts: int) -> Iterator[Damage]:
    """Bit flips, truncations, deletion, and the content of other files in its place."""
    whole = path.read_bytes()
    for _ in range(flips):
        place, bit = chance.randrange(len(whole)), chance.randrange(8)
        yield Damage("bit flip", whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
    for _ in range(cuts):
        yield Damage("truncation", whole[: chance.randrange(len(whole))])
    yield Damage("deletion", None)
    for other in others:
        yield Damage("swap", other.read_bytes())


@contextlib.contextmanager
def damaged(path: Path, damage: Damage) -> Iterator[None]:
    """The file, damaged for a while."""
    whole = path.read_bytes()
    if damage.content is None:
        path.unlink()
    else:
        path.write_bytes(damage.content)
    try:
        yield
    finally:
        path.write_bytes(whole)


# ---- readers


def command(*words: str) -> tuple[str, str, bool]:
    """Output, error output and failure of a command."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["grokscope", *words]),
    ):
        try:
            main(list(words))
        except SystemExit as stop:
            return out.getvalue(), err.getvalue(), bool(stop.code)
    raise AssertionError("a command ends with an exit code")


def by_id(runs: Path, read: Callable[[str], Any]) -> tuple[Found, str]:
    """What `read` returns for each run that is listed, and the errors that it raised."""
    found, said = {}, []
    for info in list_runs(runs):
        try:
            found[info.id] = read(info.id)
        except StoreError as error:
            assert "\n" not in str(error)
            said.append(str(error))
    return found, "\n".join(said)


def listed(runs: Path) -> tuple[Found, str]:
    infos = list_runs(runs)
    return {info.id: repr(info) for info in infos}, "\n".join(info.problem for info in infos)


def metrics(runs: Path) -> tuple[Found, str]:
    return by_id(runs, lambda id: read_metrics(find_run(runs, id)).to_pydict())


def all_metrics(runs: Path) -> tuple[Found, str]:
    table = load_runs(runs, arrow=True)
    found: Found = {}
    for row in table.to_pylist():
        found.setdefault(row["run"], []).append(row)
    return found, ""


def checkpoints(runs: Path) -> tuple[Found, str]:
    def read(id: str) -> Any:
        info = find_run(runs, id)
        saved = [read_checkpoint(info, epoch) for epoch in kept_epochs(info)]
        return [(one.epoch, one.metadata, digest(one.tensors)) for one in saved]

    return by_id(runs, read)


def probed(runs: Path) -> tuple[Found, str]:
    return by_id(runs, lambda id: probes.get("jaccard")(StoredRun.find(runs, id)).to_dict("list"))


def resumed(runs: Path) -> tuple[Found, str]:
    """Every run opened for training, in a copy."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(runs, Path(folder) / "runs"))
        return by_id(copy, lambda id: _resume(copy, id))


def _resume(runs: Path, id: str) -> Any:
    config = find_run(runs, id).config
    with RunFolder.create_or_open(runs, id, config, device="cpu", identity=RunConfig.identity_of) as run:
        saved = run.latest_checkpoint()
        assert saved is not None
        state = (run.state.status, run.state.epoch, run.state.rows, run.state.summary)
        return state, run.metrics().to_pydict(), saved.epoch, saved.metadata, digest(saved.tensors)


def shown(runs: Path) -> tuple[Found, str]:
    found, said = {}, []
    for path in run_like_folders(runs):
        out, err, failed = command("show", path.name, "--runs", str(runs), "--json")
        if not failed:
            found[path.name] = json.loads(out)
        said.append(err)
    return found, "\n".join(said)


def runs_command(runs: Path) -> tuple[Found, str]:
    out, err, failed = command("runs", "--runs", str(runs), "--json", "--threshold", "0.1", "--clock", "first")
    if failed:
        return {}, err
    return {one["id"]: one for one in json.loads(out)}, err + "\n".join(
        one.get("problem", "") for one in json.loads(out)
    )


def audit_command(runs: Path) -> tuple[Found, str]:
    out, err, failed = command("audit", "--runs", str(runs), "--json")
    return {} if failed else {one["run"]: one for one in json.loads(out)}, err


def report_command(runs: Path) -> tuple[Found, str]:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        _, err, failed = command("report", "--runs", str(runs), "-o", str(page), "--figure", "accuracy")
        if failed:
            return {}, err
        text = page.read_text().replace(folder, "")
        return {path.name: text for path in run_like_folders(runs)}, err


QUICK: dict[str, Callable[[Path], tuple[Found, str]]] = {
    "list_runs": listed,
    "read_metrics": metrics,
    "load_runs": all_metrics,
    "read_checkpoint": checkpoints,
    "probe": probed,
    "resume": resumed,
    "grokscope runs": runs_command,
    "grokscope show": shown,
}
SLOW = {"grokscope audit": audit_command, "grokscope report": report_command}


def reading(reader: Callable[[Path], tuple[Found, str]], runs: Path) -> Reading:
    """Run a reader and collect what it says."""
    stored._told.clear()  # a line is said once per process
    err = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stderr(err):
        warnings.simplefilter("always")
        try:
            values, said = reader(runs)
            # as text, in which NaN equals NaN
            found, failed = {id: repr(value) for id, value in values.items()}, False
        except StoreError as error:
            assert "\n" not in str(error)
            found, said, failed = {}, str(error), True
    assert "Traceback" not in said + err.getvalue()
    return Reading(found, "\n".join([said, err.getvalue(), *(str(one.message) for one in caught)]), failed)


def outcome(before: Reading, after: Reading, run: str) -> str:
    """same, named (an error, or a line about the run) or silent: a number differs or is missing, and nothing is said."""
    if after.found == before.found:
        return "same"
    others = {id for id in before.found if id != run and id in after.found}
    one_page = len(set(before.found.values())) == 1
    if not one_page and any(after.found[id] != before.found[id] for id in others):
        return "silent"
    return "named" if run in after.text else "silent"


def is_found(runs: Path, run: str) -> bool:
    """Whether `grokscope check` finds the damage."""
    return bool(check_run(runs / run, lambda config, name: RunConfig.stored(config, name)[0].id).problems)


def digest(tensors: dict[str, torch.Tensor]) -> dict[str, bytes]:
    # in the order of names: that in which they are loaded varies
    flat = {name: tensor.contiguous().reshape(-1).view(torch.uint8) for name, tensor in sorted(tensors.items())}
    return {name: tensor.numpy().tobytes() for name, tensor in flat.items()}
