"""Results are published by one atomic step and verified when they are read."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sample_run import content

from grokscope.errors import ResultsChangedError, StoreError
from grokscope.store import results as store
from grokscope.store.results import Results, load_results, results_version, save_results, stored_results

FILES = ("about.json", "runs.parquet", "curves.parquet", "probe-masks.parquet")


def made(number: int, experiment: str = "toy", *, probes: bool = True) -> Results:
    runs = pd.DataFrame({"run": ["a", "b"], "t_grok": [number, number + 1]})
    curves = pd.DataFrame({"run": ["a", "b"], "loss": [number / 3, number / 7]})
    about = {"experiment": experiment, "scale": "full", "number": number}
    return Results(about, runs, curves, {"masks": pd.DataFrame({"x": [number]})} if probes else {})


def same(found: Results | None, wanted: Results) -> bool:
    return (
        found is not None
        and found.about == wanted.about
        and found.runs.equals(wanted.runs)
        and found.curves.equals(wanted.curves)
        and found.probes.keys() == wanted.probes.keys()
        and all(found.probes[name].equals(wanted.probes[name]) for name in wanted.probes)
    )


def load(folder: Path) -> Results | None:
    return load_results(folder, "toy", "full")


def test_they_come_back_and_are_replaced_as_a_whole(tmp_path: Path) -> None:
    assert load(tmp_path) is None
    target = save_results(tmp_path, made(1))
    assert target == tmp_path / "toy" / "full"
    assert same(load(tmp_path), made(1))
    (target / "picture.svg").write_text("mine")
    (target / "more").mkdir()
    (target / "more" / "notes").write_text("mine too")
    save_results(tmp_path, made(2, probes=False))
    assert same(load(tmp_path), made(2, probes=False))
    left = {"about.json", "runs.parquet", "curves.parquet", "picture.svg", "more", "more/notes"}
    assert set(content(target)) == left, "the stale probe is gone, other files stay"
    assert os.listdir(tmp_path / "toy") == ["full"]
    assert stored_results(tmp_path) == [("toy", "full")]
    again = load(tmp_path)
    assert again is not None
    save_results(tmp_path, again)
    assert same(load(tmp_path), made(2, probes=False))


def test_results_replace_those_that_they_are_made_of_and_no_others(tmp_path: Path) -> None:
    assert results_version(tmp_path, "toy", "full") == ""
    save_results(tmp_path, made(1), replaces="")
    first = results_version(tmp_path, "toy", "full")
    save_results(tmp_path, made(2), replaces=first)
    for stale in ("", first):
        with pytest.raises(ResultsChangedError, match="replaced by another process"):
            save_results(tmp_path, made(3), replaces=stale)
    assert same(load(tmp_path), made(2)) and os.listdir(tmp_path / "toy") == ["full"]
    os.rename(tmp_path / "toy" / "full", tmp_path / "toy" / ".old-full")  # a publication was killed between its renames
    save_results(tmp_path, made(4), replaces=results_version(tmp_path, "toy", "full"))
    assert same(load(tmp_path), made(4))


def test_killed_or_failed_at_every_step_the_old_or_the_new_results_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    seen: dict[str, list[int]] = {}
    for error in (Killed(), OSError(28, "No space left on device")):
        for nth in range(1, 100):
            folder = tmp_path / type(error).__name__ / str(nth)
            save_results(folder, made(1))
            calls = iter(range(1, 1000))

            def deadly(real: Any, nth: int = nth, calls: Any = calls, error: BaseException = error) -> Any:
                def step(*args: Any, **options: Any) -> Any:
                    number = next(calls)
                    if number == nth or (number > nth and isinstance(error, Killed)):
                        raise error
                    return real(*args, **options)

                return step

            with monkeypatch.context() as patch:
                for module, name in ((os, "rename"), (os, "replace"), (shutil, "rmtree"), (os, "mkdir")):
                    patch.setattr(module, name, deadly(getattr(module, name)))
                try:
                    save_results(folder, made(2))
                    ended = True
                except (Killed, StoreError):
                    ended = False
            found = load(folder)
            assert found is not None
            assert same(found, made(found.about["number"]))
            seen.setdefault(type(error).__name__, []).append(found.about["number"])
            assert stored_results(folder) == [("toy", "full")]
            save_results(folder, made(3))
            assert same(load(folder), made(3))
            assert os.listdir(folder / "toy") == ["full"]
            if ended and next(calls) <= nth:
                break
    assert seen["Killed"] == sorted(seen["Killed"])
    for numbers in seen.values():
        assert set(numbers) == {1, 2} and len(numbers) > 6


def test_publications_at_the_same_time_all_end_well(tmp_path: Path) -> None:
    errors: list[Exception] = []

    def publish(number: int) -> None:
        try:
            for _ in range(5):
                save_results(tmp_path, made(number))
                found = load(tmp_path)
                assert found is not None
                assert same(found, made(found.about["number"]))
        except Exception as error:
            errors.append(error)

    writers = [threading.Thread(target=publish, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert errors == []
    assert os.listdir(tmp_path / "toy") == ["full"]


@pytest.mark.parametrize("name", FILES)
def test_damage_to_any_file_is_noticed(tmp_path: Path, name: str) -> None:
    target = save_results(tmp_path, made(1))
    save_results(tmp_path, made(2, "other"))
    path = target / name
    whole = path.read_bytes()
    places = range(0, len(whole), 7 if name.endswith(".json") else 41)
    changed = [whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :] for place in places]
    swapped = (tmp_path / "other" / "full" / name).read_bytes()
    for data in (*changed, whole[:-1], whole[: len(whole) // 2], b"", swapped):
        path.write_bytes(data)
        with pytest.raises(StoreError, match=rf"{name}: damaged"):
            load(tmp_path)
    path.unlink()
    with pytest.raises(StoreError, match=rf"{name}: missing"):
        load(tmp_path)
    path.write_bytes(whole)
    assert same(load(tmp_path), made(1))


def test_files_of_two_publications_do_not_mix(tmp_path: Path) -> None:
    old = (save_results(tmp_path, made(1)) / "curves.parquet").read_bytes()
    (save_results(tmp_path, made(2)) / "curves.parquet").write_bytes(old)
    with pytest.raises(StoreError, match=r"curves\.parquet: damaged"):
        load(tmp_path)


def test_results_without_checksums_are_refused(tmp_path: Path) -> None:
    target = save_results(tmp_path, made(1))
    (target / "about.json").write_text('{"experiment": "toy", "scale": "full"}')
    with pytest.raises(StoreError, match=r"about\.json: damaged \(its checksum is wrong or missing"):
        load(tmp_path)


def test_a_folder_of_pictures_alone_holds_no_results(tmp_path: Path) -> None:
    (tmp_path / "toy" / "full").mkdir(parents=True)
    (tmp_path / "toy" / "full" / "picture.svg").write_text("mine")
    assert load(tmp_path) is None
    assert store.label(tmp_path / "toy" / "full", "about.json") == "results toy/full/about.json"
