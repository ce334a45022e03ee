"""What a training command says of stored runs that were trained with other code or other measures."""

from dataclasses import replace
from pathlib import Path

import pytest

from grokscope.cli.notices import notices, small_networks
from grokscope.config import RunConfig
from grokscope.launch.executors import parse_place
from grokscope.store import RunInfo


def info(status="done", *, measures=("fit",), loaded=()):
    files = [{"path": f"/somewhere/{name}", "sha256": code, "source": code} for name, code in loaded]
    manifest = {"measures": list(measures), "loaded": files}
    return RunInfo(id="3f9a", path=Path("3f9a"), status=status, manifest=manifest)


def now(*files):
    return [{"path": f"/elsewhere/{name}", "sha256": code, "source": code} for name, code in files]


def test_nothing_is_said_of_runs_that_would_be_the_same():
    same = info(loaded=[("mine.py", "1")])
    assert notices([same, info("stopped")], now(("mine.py", "1")), ["fit"]) == []
    assert notices([], now(("mine.py", "1")), ["fit", "own"]) == []


def test_a_measure_added_to_or_missing_from_unfinished_runs():
    (line,) = notices([info("stopped")], [], ["fit", "confidence"])
    assert line == "1 unfinished run was measured without confidence so far: its columns begin here"
    (line,) = notices([info("stopped", measures=["fit", "confidence"])] * 2, [], ["fit"])
    assert line == "2 unfinished runs were measured with confidence, which is not registered now"


def test_a_manifest_that_does_not_know_its_measures_is_not_compared():
    older = RunInfo(id="3f9a", path=Path("3f9a"), status="done", manifest={})
    assert notices([older], now(("mine.py", "1")), ["fit", "confidence"]) == []


@pytest.mark.parametrize(
    ("status", "line"),
    [
        ("done", "mine.py has changed since 2 finished runs were created with it: --again retrains them"),
        (
            "stopped",
            "mine.py has changed since 2 unfinished runs were created: training continues with the code as it is now",
        ),
    ],
)
def test_code_that_has_changed(status, line):
    runs = [info(status, loaded=[("mine.py", "1"), ("neighbour.py", "1")])] * 2
    assert notices(runs, now(("mine.py", "2"), ("neighbour.py", "1")), ["fit"]) == [line]
    assert notices(runs, now(("mine.py", "2"), ("mine.py", "1")), ["fit"]) == []
    assert notices(runs, now(("other.py", "2")), ["fit"]) == []


def test_a_command_without_again_names_what_deletes_runs():
    (line,) = notices([info("done", loaded=[("mine.py", "1")])], now(("mine.py", "2")), ["fit"], again=False)
    assert line == "mine.py has changed since 1 finished run was created with it: grokscope rm deletes it"


@pytest.mark.parametrize(
    ("runs", "cores", "said"),
    [
        ([("tiny", 10_000)] * 4, 3, 3),
        ([("tiny", 10_000)] * 4, 8, 4),
        ([("tiny", 10_000)] * 4, 1, 0),
        ([("tiny", 100)] * 4, 8, 0),  # done before other processes have started
        ([("tiny", 90_000)], 8, 0),
        ([("default", 10_000)] * 4, 2, 0),  # its arithmetic keeps two cores busy
    ],
)
def test_idle_cores_are_named_where_other_processes_would_use_them(tiny, monkeypatch, runs, cores, said):
    monkeypatch.setattr("grokscope.helpers.cores", lambda: cores)
    kinds = {"tiny": tiny, "default": RunConfig()}
    configs = [replace(kinds[kind], epochs=epochs, seed=seed) for seed, (kind, epochs) in enumerate(runs)]
    line = small_networks(configs, parse_place("local", {}), "cpu")
    assert (f"--set local.processes=0 trains these runs in {said} processes" in line) == bool(said)
    assert bool(line) == bool(said)
    assert small_networks(configs, parse_place("local", {"local.processes": 2}), "cpu") == ""
