"""A run with damaged rows or checkpoints goes back to the last checkpoint up to which everything is complete, and says so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from sample_run import CONFIG, ID, check_exact, content, open_run, save_next

from grokscope.errors import LostLeaseError, StoreError
from grokscope.store import aside, delete_runs, find_run, kept_epochs, lease, list_runs, read_metrics, recovery
from grokscope.store.lease import Lease
from grokscope.store.verification import check_run, repair_run, run_like_folders


def checkpoint(epoch: int, name: str = "kept") -> str:
    return f"checkpoints/{name}-{epoch:09d}.safetensors"


def part(last: int) -> str:
    return f"metrics/part-{last - 1:09d}-{last:09d}.parquet"


def harm(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 4
    path.write_bytes(whole)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that is finished at epoch 12; the checkpoints of epochs 4 and 8 are kept, and a measure was added."""
    with open_run(tmp_path) as folder:
        for epoch in (2, 4, 6, 8, 10, 12):
            save_next(folder, keep=epoch in (4, 8), status="done" if epoch == 12 else "running")
        folder.add_measure("late", [{"epoch": epoch, "late": epoch / 3} for epoch in (4, 8, 12)])
    return tmp_path / ID


@pytest.mark.parametrize(
    ("name", "back"),
    [
        (checkpoint(12, "epoch"), 8),
        (part(12), 8),
        (part(10), 8),
        (part(8), 4),
        (part(6), 4),
        (part(4), None),
        (part(2), None),
    ],
)
@pytest.mark.parametrize("how", [harm, os.unlink])
def test_a_damaged_run_goes_back_when_it_is_opened(
    run: Path, name: str, back: int | None, how: object, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = content(run)
    how(run / name)  # type: ignore[operator]
    before = content(run)
    if back is None:
        with pytest.raises(StoreError, match=rf"it cannot be repaired.*grokscope rm {ID} deletes it"):
            open_run(run.parent)
        assert content(run) == before
        return
    with open_run(run.parent) as folder:
        assert check_exact(folder) == back
        assert folder.state.status == "running"
        assert folder.state.kept == [epoch for epoch in (4, 8) if epoch <= back]
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"run {ID}: {run}") and line.endswith(f"it goes back to epoch {back}")
        for epoch in range(back + 2, 13, 2):
            save_next(folder, keep=epoch in (4, 8), status="done" if epoch == 12 else "running")
    assert check_run(run).problems == []
    after = content(run)
    same = {name for name in whole if name.split("/")[0] in ("metrics", "added")}
    assert {name: after[name] for name in same} == {name: whole[name] for name in same}
    assert kept_epochs(find_run(run.parent, ID)) == [4, 8, 12]
    with open_run(run.parent):
        assert capsys.readouterr().err == ""
    assert delete_runs([run]) == 1, "what was moved aside is part of the run"


def test_nothing_is_deleted_when_a_run_goes_back(run: Path) -> None:
    before = content(run)
    harm(run / part(10))
    with open_run(run.parent):
        pass
    aside = content(run / ".damaged")
    gone = {name for name in before if name not in content(run)}
    assert gone == {part(10), part(12), checkpoint(12, "epoch")}
    assert set(aside) == {Path(name).name for name in gone}
    assert aside[Path(part(12)).name] == before[part(12)]


def test_killed_while_it_goes_back(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    harm(run / part(6))
    pristine = run.parent / "pristine"
    shutil.copytree(run, pristine)
    real = os.rename
    for nth in range(1, 20):
        shutil.rmtree(run)
        shutil.copytree(pristine, run)
        calls = iter(range(1, 100))

        def rename(*args: object, nth: int = nth, calls: object = calls) -> None:
            if next(calls) == nth:  # type: ignore[call-overload]
                raise Killed
            real(*args)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(os, "rename", rename)
            try:
                open_run(run.parent).close()
                died = False
            except Killed:
                died = True
        with open_run(run.parent) as folder:
            assert check_exact(folder) == 4
        if not died:
            break
    # four parts, a kept checkpoint and the newest one lie beyond epoch 4, with two renames each; the lease is taken and released
    assert nth == 15


def test_a_file_that_cannot_be_read_now_does_not_send_a_run_back(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = content(run)
    real = os.open

    def fail(path: object, *args: int, **options: int) -> int:
        if str(path).endswith(Path(part(10)).name):
            raise OSError(5, "Input/output error")
        return real(path, *args, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", fail)
        with pytest.raises(StoreError, match=r"part-\S+: cannot be read \(Input/output error\)$"):
            open_run(run.parent)
    assert content(run) == before


def test_a_lost_kept_checkpoint_is_noticed_by_readers_and_on_resume(run: Path) -> None:
    os.unlink(run / checkpoint(4))
    with pytest.raises(StoreError, match=r"kept-000000004\.safetensors: missing"):
        kept_epochs(find_run(run.parent, ID))
    before = content(run)
    with pytest.raises(StoreError, match=rf"missing; grokscope check --repair {ID} gives up the kept .* epoch 4$"):
        open_run(run.parent)
    assert content(run) == before
    assert repair_run(run).repaired == "without the kept checkpoint of epoch 4"
    assert kept_epochs(find_run(run.parent, ID)) == [8, 12]
    assert find_run(run.parent, ID).status == "done"


def test_a_lost_part_of_a_finished_run_is_noticed_by_readers(run: Path) -> None:
    os.unlink(run / part(6))
    with pytest.raises(StoreError, match="10 rows up to epoch 12, its state counts 12"):
        read_metrics(find_run(run.parent, ID))


def test_a_lost_added_measure_is_noticed_and_struck_off(run: Path) -> None:
    assert read_metrics(find_run(run.parent, ID)).column("late").to_pylist()[3] == 4 / 3
    os.unlink(run / "added" / "late.parquet")
    with pytest.raises(StoreError, match=r"late\.parquet: missing"):
        read_metrics(find_run(run.parent, ID))
    assert repair_run(run).repaired == "without the added measure late"
    assert read_metrics(find_run(run.parent, ID)).column_names == ["epoch", "loss", "steps"]


@pytest.mark.parametrize("how", [harm, os.unlink, lambda path: (os.unlink(path), os.mkfifo(path))])
def test_a_damaged_state_is_restored_from_the_newest_checkpoint(run: Path, how: object) -> None:
    how(run / "state.json")  # type: ignore[operator]
    with pytest.raises(StoreError, match=r"state\.json: (damaged|missing)"):
        open_run(run.parent)
    (problem,) = check_run(run).problems
    assert "state.json: " in problem
    assert repair_run(run).repaired.startswith("its state is that of the checkpoint of epoch 12")
    assert check_run(run).problems == []
    with open_run(run.parent) as folder:
        assert check_exact(folder) == 12
        assert (folder.state.kept, folder.state.added) == ([4, 8], ["late"])


@pytest.mark.parametrize("name", ["config.json", "manifest.json"])
def test_what_cannot_be_repaired_is_left_as_it_is(run: Path, name: str) -> None:
    harm(run / name)
    before = content(run)
    found = repair_run(run)
    assert found.problems and not found.repaired
    assert f"grokscope rm {ID}" in found.advice
    assert content(run) == before


def test_every_damaged_file_is_found(run: Path) -> None:
    files = [name for name, mark in content(run).items() if mark != "folder" and name != "lock"]
    assert len(files) == 3 + 6 + 3 + 1
    for name in files:
        whole = (run / name).read_bytes()
        harm(run / name)
        found = check_run(run)
        assert len(found.problems) == 1 and name in found.problems[0] and found.advice, name
        (run / name).write_bytes(whole)
        assert check_run(run).problems == []


def test_several_problems_are_repaired_at_once(run: Path) -> None:
    for name in (part(10), checkpoint(4), "added/late.parquet"):
        harm(run / name)
    assert len(check_run(run).problems) == 3
    done = repair_run(run).repaired
    assert done == (
        "it is back at epoch 8 (of 12), without the kept checkpoint of epoch 4, without the added measure late"
    )
    assert find_run(run.parent, ID).epoch == 8
    assert set(content(run / ".damaged")) >= {Path(checkpoint(4)).name, "late.parquet", Path(part(10)).name}


def test_a_run_that_trains_is_checked_but_not_repaired(run: Path) -> None:
    with open_run(run.parent, id="77aa") as folder:
        save_next(folder, keep=True)
        save_next(folder)
        other = run.parent / "77aa"
        assert check_run(other).problems == []
        harm(other / part(4))
        before = content(other)
        assert repair_run(other).advice == "it is being trained; repair it afterwards"
        assert content(other) == before


def test_settings_of_another_run_are_found(run: Path) -> None:
    assert check_run(run, lambda config, name: ID if config == CONFIG else "other").problems == []
    (problem,) = check_run(run, lambda config, name: "77aa").problems
    assert problem.endswith(f"config.json: its settings are those of run 77aa, not of {ID}")


def test_a_folder_that_lost_all_its_json_files_is_not_passed_over(run: Path) -> None:
    for name in ("config.json", "manifest.json", "state.json"):
        os.unlink(run / name)
    (run.parent / "notes").mkdir()
    assert list_runs(run.parent) == []
    assert run_like_folders(run.parent) == [run]
    assert "config.json is missing" in check_run(run).problems[0]


def test_files_of_the_same_name_are_all_kept_aside(run: Path) -> None:
    for text in ("one", "two"):
        (run / "note").write_text(text)
        held = Lease.take(run, run.name, locked=True)
        held.move_aside(run / "note")
        held.release()
    assert sorted(path.read_text() for path in (run / ".damaged").iterdir()) == ["one", "two"]


@pytest.mark.parametrize("moment", ["before the first file", "between two renames", "before the state"])
def test_a_process_that_lost_its_lease_moves_nothing_aside(
    run: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    harm(run / checkpoint(12, "epoch"))
    mine = Lease.take(run, run.name, locked=True)
    complete = recovery.last_complete(run)
    assert complete is not None
    taken: list[Lease] = []
    before: dict[str, str] = {}

    def everything() -> dict[str, str]:
        return {name: mark for name, mark in content(run).items() if not name.endswith(lease.HOLDER)}

    def steal() -> None:
        if not taken:
            taken.append(Lease.take(run, run.name, locked=True))
            before.update(everything())

    def first_stolen(function: Callable[..., object]) -> Callable[..., object]:
        def call(*words: object, **named: object) -> object:
            steal()
            return function(*words, **named)

        return call

    if moment == "before the first file":
        steal()
    elif moment == "between two renames":
        monkeypatch.setattr(aside, "finish_move", first_stolen(aside.finish_move))
    else:
        monkeypatch.setattr(lease, "write", first_stolen(lease.write))
    with pytest.raises(LostLeaseError):
        recovery.go_back(mine, None, complete)
    assert everything() == before
    moved = {"before the first file": 0, "between two renames": 1, "before the state": 3}[moment]
    assert len(list(run.glob(".damaged/*"))) == moved, "what was on its way is not lost"
    taken[0].release()
