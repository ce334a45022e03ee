"""Each kind of file × each kind of damage × everything that reads runs: never a silently different number."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from damage import QUICK, SLOW, Reading, command, damaged, damages, is_found, outcome, reading

from grokscope.config import Log, RunConfig
from grokscope.launch.local import train_all
from grokscope.models.transformer import Transformer
from grokscope.optim.adamw import AdamW
from grokscope.store import list_runs
from grokscope.tasks.modular import Modular

Recorder = Callable[[str, object], None]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two finished runs that differ in their seed alone, with kept checkpoints and an added measure."""
    from grokscope.store import RunFolder

    config = RunConfig(
        task=Modular(p=7, distractors=2, alphabet=3, train_fraction=0.6),
        model=Transformer(d=8, d_mlp=16),
        optim=AdamW(lr=1e-2),
        epochs=25,
        log=Log(every=5, keep=10),
    )
    folder = tmp_path_factory.mktemp("damage") / "runs"
    for info in train_all([replace(config, seed=seed) for seed in (0, 1)], runs=folder, device="cpu"):
        with RunFolder.create_or_open(folder, info.id, info.config, device="cpu") as run:
            rows = [{"epoch": epoch, "later": epoch + info.config["seed"] / 3} for epoch in (10, 20, 25)]
            run.add_measure("later", rows)
    return folder


def trials(runs: Path, readers: dict, flips: int, cuts: int, seed: int, record: Recorder, every: int = 1) -> None:  # type: ignore[type-arg]
    """Damage every file of the first run in every way; every reader must give the same, or name the run."""
    chance = random.Random(seed)
    run, other = sorted(info.id for info in list_runs(runs))
    before = {name: reading(reader, runs) for name, reader in readers.items()}
    assert all(set(one.found) == {run, other} for one in before.values()), "undamaged runs are read without an error"
    assert outcome(next(iter(before.values())), Reading({}, "", False), run) == "silent", "the test can fail"
    counts: Counter[str] = Counter()
    unnoticed, unfound, number = [], [], 0
    files = sorted(path for path in (runs / run).rglob("*") if path.is_file() and path.name != "lock")
    assert {path.parent.name for path in files} == {run, "metrics", "checkpoints", "added"}
    for path in files:
        name = path.relative_to(runs / run)
        # the same file of the other run, and another file of the same kind of this run
        others = [runs / other / name, *[one for one in files if one.parent == path.parent and one != path][:1]]
        for damage in damages(
            path, [one for one in others if one.read_bytes() != path.read_bytes()], chance, flips, cuts
        ):
            number += 1
            if number % every:
                continue
            with damaged(path, damage):
                if not is_found(runs, run):
                    unfound.append((str(name), damage.name))
                for reader, read in readers.items():
                    result = outcome(before[reader], reading(read, runs), run)
                    counts[result] += 1
                    if result == "silent":
                        unnoticed.append((reader, str(name), damage.name))
    assert not unnoticed, unnoticed
    assert not unfound, unfound
    assert counts["named"] > counts["same"] / 4
    told = f"{sum(counts.values())} readings of damaged runs ({number // every} damages × {len(readers)} readers): "
    record("counts", told + f"{counts['same']} the same, {counts['named']} named or refused, 0 silently different")


def test_no_reader_gives_a_silently_different_number(runs: Path, record_property: Recorder) -> None:
    trials(runs, QUICK, flips=1, cuts=1, seed=0, record=record_property)


def test_no_page_gives_a_silently_different_number(runs: Path, record_property: Recorder) -> None:
    trials(runs, SLOW, flips=1, cuts=1, seed=1, record=record_property, every=6)


@pytest.mark.slow
def test_no_reader_gives_a_silently_different_number_at_length(runs: Path, record_property: Recorder) -> None:
    trials(runs, QUICK, flips=40, cuts=10, seed=2, record=record_property)


@pytest.mark.slow
def test_no_page_gives_a_silently_different_number_at_length(runs: Path, record_property: Recorder) -> None:
    trials(runs, SLOW, flips=3, cuts=1, seed=3, record=record_property)


def made_up(results: Path, name: str, seed: int) -> Path:
    """Current results of an experiment, with invented times."""
    import numpy as np
    import pandas as pd

    from grokscope.experiments import find_experiment
    from grokscope.experiments.frozen import rule_hashes
    from grokscope.store.results import Results, save_results

    experiment = find_experiment(name)
    asked = [(arm, config.seed) for arm, config in experiment.configs("full")]
    runs = pd.DataFrame(asked, columns=["arm", "seed"]).assign(epoch=9000, steps=9000, step_seconds=1.0)
    runs["run"] = [f"{arm}-{number}" for arm, number in asked]
    runs["t_first_99"] = 1000 * np.exp(np.random.default_rng(seed).normal(0, 0.3, len(runs)))
    runs["t_stable_95"] = runs["t_first_99"]
    about = {"experiment": name, "scale": "full", "device": "cpu", "rules": rule_hashes(experiment)}
    return save_results(results, Results(about, runs, runs[["run", "t_first_99"]]))


@pytest.mark.parametrize(("flips", "cuts"), [(1, 1), pytest.param(60, 20, marks=pytest.mark.slow, id="at length")])
def test_no_claim_is_silently_different(tmp_path: Path, record_property: Recorder, flips: int, cuts: int) -> None:
    name, chance = "speed-bf16", random.Random(4)
    folder, other = (made_up(tmp_path / place, name, seed) for seed, place in enumerate(("results", "others")))
    words = ("claims", "--results", str(tmp_path / "results"), "--json")
    before = command(*words)
    assert not before[2] and name in before[0], before[1]
    counts: Counter[str] = Counter()
    for path in sorted(folder.iterdir()):
        for damage in damages(path, [other / path.name], chance, flips, cuts):
            with damaged(path, damage):
                out, err, _ = command(*words)
            result = "same" if out == before[0] else "named" if name in err else "silent"
            counts[result] += 1
            assert result != "silent", (path.name, damage.name)
    assert counts["named"] == sum(counts.values())
    record_property(
        "counts", f"{counts['named']} damaged files of results: all named or refused, none silently different"
    )
