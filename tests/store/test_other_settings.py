"""The same run requested with other settings that do not change its numbers: it continues with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sample_run import CONFIG, ID, check_exact, content, open_run, save_next

from grokscope.errors import StoreError
from grokscope.store import RunFolder, find_run, kept_epochs, lease, read_checkpoint

SHORT = {**CONFIG, "epochs": 4}
LONG = {**CONFIG, "epochs": 8}


def identity(config: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name != "epochs"}


def reopen(runs: Path, config: dict[str, Any]) -> RunFolder:
    return RunFolder.create_or_open(runs, ID, config, device="cpu", identity=identity)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A run that is finished at epoch 4."""
    with reopen(tmp_path, SHORT) as run:
        save_next(run)
        save_next(run, status="done")
    return tmp_path


def test_a_finished_run_goes_on_with_the_new_settings(runs: Path) -> None:
    with reopen(runs, LONG) as run:
        assert check_exact(run) == 4
        assert not run.state.finished
        assert find_run(runs, ID).config == LONG
        save_next(run, status="done")
    info = find_run(runs, ID)
    assert (info.config["epochs"], info.epoch, info.status) == (8, 6, "done")


def test_the_checkpoint_it_was_finished_with_is_kept(runs: Path) -> None:
    with reopen(runs, LONG) as run:
        save_next(run)
        save_next(run)
    info = find_run(runs, ID)
    assert kept_epochs(info) == [4, 8]
    assert read_checkpoint(info, 4).metadata == {"step": 40}


def test_the_same_settings_change_nothing(runs: Path) -> None:
    before = content(runs)
    with reopen(runs, SHORT) as run:
        assert run.state.finished
    after = content(runs)
    assert {name for name in before if before[name] != after[name]} <= {f"{ID}/lock"}


def test_a_run_in_the_middle_keeps_its_state(tmp_path: Path) -> None:
    with reopen(tmp_path, SHORT) as run:
        save_next(run)
        serial = run.state.serial
    with reopen(tmp_path, LONG) as run:
        assert check_exact(run) == 2
        assert run.state.serial == serial
    assert find_run(tmp_path, ID).config == LONG
    assert kept_epochs(find_run(tmp_path, ID)) == [2]


def test_settings_that_tell_runs_apart_must_be_the_same(runs: Path) -> None:
    with pytest.raises(StoreError, match=r"holds another configuration \(seed is 0 there and 1 here\)"):
        reopen(runs, {**LONG, "seed": 1})
    with pytest.raises(StoreError, match=r"holds another configuration \(epochs is 4 there and 8 here\)"):
        open_run(runs, config=LONG)
    assert find_run(runs, ID).config == SHORT


@pytest.mark.parametrize("step", ["keep", "remove", "write state", "write config"])
def test_killed_at_any_write_it_is_never_finished_under_the_new_settings(
    runs: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    class Killed(BaseException):
        pass

    def kill(*args: Any, **options: Any) -> None:
        raise Killed

    real = lease.write
    with monkeypatch.context() as patched, pytest.raises(Killed):
        if step == "remove":
            patched.setattr(lease, "remove", kill)
        else:
            begin = {"keep": "kept-", "write state": "state.json", "write config": "config.json"}[step]
            patched.setattr(
                lease,
                "write",
                lambda path, *args, **o: (kill if path.name.startswith(begin) else real)(path, *args, **o),
            )
        reopen(runs, LONG)
    info = find_run(runs, ID)
    assert info.config == SHORT
    assert info.status == ("stopped" if step == "write config" else "done")
    for config in (SHORT, LONG):
        with reopen(runs, config) as run:
            assert check_exact(run) == 4


def test_what_was_noted_at_the_start_is_read_back(tmp_path: Path) -> None:
    RunFolder.create_or_open(tmp_path, ID, CONFIG, device="cpu", record={"threads": 2, "schema": 99}).close()
    with RunFolder.create_or_open(tmp_path, ID, CONFIG, device="cpu", record={"threads": 4}) as run:
        assert (run.manifest["threads"], run.manifest["schema"]) == (2, 3)
