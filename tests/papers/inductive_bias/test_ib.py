"""The inductive-bias experiments: their columns on tables made up for each verdict, and each of them end to end at toy size."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from grokscope.config import Log, Stop
from grokscope.experiments import all_experiments, find_experiment
from grokscope.experiments.collect import run_rows
from grokscope.experiments.drawing import draw
from grokscope.experiments.ledger import rulings
from grokscope.experiments.probing import probe_tables
from grokscope.launch.local import train_all
from grokscope.papers.inductive_bias import checkpoints, columns, compressibility, features
from grokscope.papers.inductive_bias.common import PLACEMENTS
from grokscope.store.results import Results

IB = [name for name in all_experiments() if name.startswith("ib-")]
OURS = [name for name in IB if not name.endswith("-authors")]
AUTHORS = [name for name in IB if name.endswith("-authors")]
SEEDS = 20


def results_of(runs=None, curves=None, **probes):
    empty = pd.DataFrame()
    return Results({"scale": "full"}, empty if runs is None else runs, empty if curves is None else curves, probes)


def ruling_of(experiment, claim, results):
    return next(own for own in find_experiment(experiment).claims if own.name == claim).rule(results)


# ── settings ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_all_but_one_factor_is_held():
    assert (len(OURS), len(AUTHORS)) == (6, 7)
    for name in OURS:
        for arm, config in find_experiment(name).configs("full", seeds=1):
            assert config.task.p == 113 and config.model.d == 64, arm
    for name in IB:
        for scale in ("quick", "full"):
            configs = [config for _, config in find_experiment(name).configs(scale, seeds=1)]
            assert all(config.log.keep % config.log.every == 0 for config in configs), "a checkpoint is an evaluation"
        quick = [config for _, config in find_experiment(name).configs("quick")]
        assert sum(config.epochs for config in quick) <= 60_000, name


def test_twenty_seeds_wherever_arms_are_compared():
    assert all(find_experiment(name).seeds >= SEEDS for name in IB)


def test_authors_settings_are_those_of_their_code():
    for name in AUTHORS:
        experiment = find_experiment(name)
        assert experiment.settings == "authors'" and experiment.differs
        for arm, config in experiment.configs("full", seeds=1):
            assert config.check() is config
            assert (config.task.p, config.task.train_fraction, config.task.distractors) == (113, 0.3, 0)
            assert config.task.shape.length == 3 and config.task.shape.train_size == 3830
            assert (config.model.heads, config.model.d_mlp) == (4, 4 * config.model.d)
            assert (config.model.d, config.model.layers) == ((64, 3) if name == "ib-depth-authors" else (128, 1))
            assert config.model.mlp.bias
            assert config.model.norm_kind.affine == (config.model.norm != "none"), arm
            optim = config.optim
            assert (optim.beta1, optim.beta2, optim.eps) == (0.9, 0.98, 1e-8)
            assert (optim.warmup, optim.clip, optim.schedule, config.batch_size) == (0, 0, "constant", 0)


def test_scales_rates_and_decays_are_those_of_the_arms_names():
    for arm, config in find_experiment("ib-scale-authors").configs("full", seeds=1):
        alpha = config.model.readout_scale
        lr, wd = config.optim.lr, config.optim.weight_decay
        assert lr == pytest.approx(1e-3 / alpha**2 if "η/α²" in arm else 4e-3 if "alone" in arm else 1e-3)
        assert wd == pytest.approx(alpha**2 if "wd·α²" in arm else 1)
        assert ("wd·α²" not in arm) or lr * wd == pytest.approx(1e-3)
    rates = dict(find_experiment("ib-rates-authors").configs("full", seeds=1))
    products = {arm: c.optim.lr * c.optim.weight_decay for arm, c in rates.items() if arm.startswith("lr")}
    assert len(products) == 4 and list(products.values()) == pytest.approx([1e-3] * 4)


def test_experiments_share_runs():
    def ids(name, *arms):
        return {c.id for arm, c in find_experiment(name).configs("full", seeds=1) if not arms or arm in arms}

    place, dial, prior = (ids(f"ib-placement{more}") for more in ("", "-dial", "-prior"))
    assert len(place & dial) == len(PLACEMENTS)
    assert len(place & prior) == 4
    assert ids("ib-features") <= ids("ib-compressibility")
    assert ids("ib-shortcut-authors") <= ids("ib-placement-authors")
    assert ids("ib-kernel-authors") <= ids("ib-scale-authors")
    trained = ids("ib-placement-authors") | ids("ib-scale-authors") | ids("ib-rates-authors")
    assert ids("ib-compressibility-authors") <= trained
    none = ids("ib-placement-authors", "none")
    assert none == ids("ib-scale-authors", "α = 1") == ids("ib-rates-authors", "lr 0.001")


def test_the_clock_stable_is_known_of_the_arms_that_it_compares():
    arms = dict(find_experiment("ib-placement-authors").configs("full", seeds=1))
    assert all(arms[arm].stop.extend >= 1 for arm in ("none", "MLP input"))


# ── columns ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_reliance_on_distractors_is_read_while_a_run_waits():
    """At 100 it has not memorised, at 200 it waits, at 300 it has generalised."""
    seen = {100: (0.5, 0.1, 0.4), 200: (1.0, 0.2, 0.3), 250: (1.0, 0.2, 0.9), 300: (1.0, 1.0, 1.0)}
    rows = [
        {"run": "r", "epoch": epoch, "side": side, "kept": kept, "accuracy": accuracy}
        for epoch, (train, test, operands) in seen.items()
        for side, kept, accuracy in (
            ("train", "everything", train),
            ("test", "everything", test),
            ("train", "operands", operands),
        )
    ]
    assert columns.distractor_reliance(results_of(shortcut=pd.DataFrame(rows))).to_dict() == {"r": 0.7}


def rescaled(*checkpoints):
    """(epoch, train, test, train at equal norms, train at unit norms); the loss is 1 − accuracy."""
    rows = [
        {"run": "r", "epoch": epoch, "side": side, "norm": norm, "accuracy": a, "cross_entropy": 1 - a}
        for epoch, train, test, equal, unit in checkpoints
        for side, norm, a in (
            ("train", "own", train),
            ("test", "own", test),
            ("train", "equal", equal),
            ("test", "equal", 0.0),
            ("train", "unit", unit),
            ("test", "unit", 0.0),
        )
    ]
    return results_of(**{"input-norm": pd.DataFrame(rows)})


def test_what_is_lost_at_other_norms_is_the_mean_over_the_wait():
    own = rescaled((100, 0.5, 0.1, 0.0, 0.0), (200, 1.0, 0.1, 0.6, 0.2), (300, 1.0, 0.3, 0.8, 0.4), (400, 1, 1, 0, 0))
    assert columns.lost_at_equal_norms(own)["r"] == pytest.approx(0.3)
    assert columns.lost_at_unit_norms(own)["r"] == pytest.approx(0.7)
    assert columns.loss_at_unit_norms(own)["r"] == pytest.approx(0.7)
    assert columns.lost_at_equal_norms(rescaled((100, 1.0, 1.0, 0.0, 0.0))).empty


def test_entropy_at_memorisation_and_while_waiting():
    runs = pd.DataFrame({"run": ["a", "b"], "t_mem_first_99": [100, np.nan]})
    seen = [(50, 1.6, 0), (110, 1.2, 0), (210, 0.8, 0.1), (310, 0.8, 0.2), (400, 0.1, 0.9)]
    curves = pd.DataFrame(
        [{"run": run, "epoch": e, "entropy": h, "test_accuracy": test} for run in "ab" for e, h, test in seen]
    )
    own = results_of(runs, curves)
    assert columns.entropy_at_memorisation(own).to_dict() == {"a": 1.2}
    assert columns.entropy_while_waiting(own).to_dict() == {"a": pytest.approx(0.9)}


def test_time_of_compression_is_the_first_at_half_of_the_largest_rank():
    """What comes before memorisation does not count, nor how far the rank falls later."""
    seen = ((1, 0.3, 90), (2, 1.0, 30), (3, 1.0, 40), (4, 1.0, 21), (5, 1.0, 20), (6, 1.0, 4))
    rows = [{"run": "r", "epoch": e, "train_accuracy": a, "effective_rank_train": r} for e, a, r in seen]
    assert columns.time_of_compression(results_of(prelogits=pd.DataFrame(rows))).to_dict() == {"r": 5}
    assert columns.time_of_compression(results_of(prelogits=pd.DataFrame(rows[:4]))).empty


def kernels(start, previous, end=0.9, arms=("α = 1",)):
    """Twenty runs of every arm that wait at 200, 400 and 600 and have generalised at 800."""
    runs = pd.DataFrame([{"run": f"{arm} {s}", "arm": arm, "seed": s} for arm in arms for s in range(SEEDS)])
    noise = np.random.default_rng(0).normal(0, 0.002, len(runs))
    rows = [
        {"run": run, "arm": arm, "epoch": e, "train_accuracy": a, "test_accuracy": b, "start": k + n, "previous": p + n}
        | {"relative": 100 * k}
        for (run, arm), n in zip(runs[["run", "arm"]].to_numpy(), noise, strict=True)
        for e, a, b, k, p in (
            (0, 0.0, 0.0, 0.0, 0.0),
            (200, 1.0, 0.1, start / 2, start / 2),
            (400, 1.0, 0.1, start, previous),
            (600, 1.0, 0.2, start, 2 * previous),
            (800, 1.0, 1.0, end, 0.5),
        )
    ]
    return results_of(runs, ntk=pd.DataFrame(rows))


def test_kernels_that_move_all_the_time_and_kernels_that_rest():
    own = kernels(0.6, 0.05)
    assert columns.kernel_from_start(own).mean() == pytest.approx(0.6, abs=0.01)
    assert columns.kernel_stillest(own).mean() == pytest.approx(0.05, abs=0.01)
    assert columns.kernel_moved_before(own).mean() == pytest.approx(0.6 / 0.9, abs=0.01)
    moving, lazy, between = kernels(0.6, 0.05), kernels(0.05, 0.001), kernels(0.45, 0.01)
    for claim in ("throughout", "no-transition"):
        found = [ruling_of("ib-kernel-authors", claim, own).verdict for own in (moving, lazy, between)]
        assert found == ["agrees", "disagrees", "cannot be told"], claim


# ── rules on features and compressibility ────────────────────────────────────────────────────────────────────


def moving(likeness, previous, end=0.2):
    """Twenty runs of every arm that wait at 400 and 800 and have generalised at 1200."""
    runs = pd.DataFrame(
        [
            {"run": f"{arm} {seed}", "arm": arm, "seed": seed, **s}
            for arm, s in features.ARMS.items()
            for seed in range(SEEDS)
        ]
    )
    noise = np.random.default_rng(0).normal(0, 0.003, len(runs))
    rows = [
        {"run": run, "epoch": e, "test_accuracy": a, "hidden_start": s + n, "hidden_previous": p + n}
        for run, n in zip(runs["run"], noise, strict=True)
        for e, a, s, p in (
            (0, 0.0, 1.0, 1.0),
            (400, 0.1, 0.9, 0.2),
            (800, 0.1, likeness(run), previous),
            (1200, 1.0, end, 1.0),
        )
    ]
    return results_of(runs, features=pd.DataFrame(rows))


def test_features_that_moved_and_features_that_did_not():
    def verdicts(results):
        claims = ("not-lazy", "throughout", "no-transition")
        return [ruling_of("ib-features", claim, results).verdict for claim in claims]

    assert verdicts(moving(lambda run: 0.4, 0.9)) == ["agrees"] * 3
    assert verdicts(moving(lambda run: 0.95, 0.999)) == ["disagrees"] * 3
    assert verdicts(moving(lambda run: 0.9, 0.99, end=0.8)) == ["cannot be told"] * 3
    partly = ruling_of("ib-features", "not-lazy", moving(lambda run: 0.95 if run.startswith("α = 10") else 0.5, 0.9))
    assert (partly.verdict, "disagrees: α = 10" in partly.when) == ("agrees in part", True)


def test_scale_and_likeness():
    order = {"α = 0.3": 0.2, "α = 1": 0.3, "α = 3": 0.4, "α = 10": 0.5}
    arm = str.rpartition
    by_scale = moving(lambda run: order.get(arm(run, " ")[0], 0.1), 0.9)
    assert ruling_of("ib-features", "scale", by_scale).verdict == "agrees"
    turned = moving(lambda run: 1 - order.get(arm(run, " ")[0], 0.1), 0.9)
    assert ruling_of("ib-features", "scale", turned).verdict == "disagrees"
    assert ruling_of("ib-features", "scale", moving(lambda run: 0.4, 0.9)).verdict == "cannot be told"


def compressed(dimension):
    """Three checkpoints of twenty runs of every arm, with more and more test accuracy."""
    rows = [
        {"run": f"{arm} {seed}", "arm": arm, "train_accuracy": train, "test_accuracy": test, **dimension(test, seed)}
        for arm in compressibility.ARMS
        for seed in range(SEEDS)
        for train, test in ((0.5, 0.01), (1.0, 0.02), (1.0, 0.5), (1.0, 1.0))
    ]
    return results_of(compressibility=pd.DataFrame(rows))


def test_compressibility_rules():
    fewer = compressed(lambda test, seed: {"participation_ratio": 50 - 40 * test, "kept_train": 0.5 + 0.4 * test})
    verdicts = {name: ruling_of("ib-compressibility", name, fewer) for name in ("features", "weights")}
    assert [ruling.verdict for ruling in verdicts.values()] == ["agrees", "disagrees"]
    assert len(verdicts["features"].cases) == 1 + len(compressibility.MODULATORS)
    same = compressed(lambda test, seed: {"participation_ratio": 10 + seed, "kept_train": 0.5})
    assert {ruling_of("ib-compressibility", name, same).verdict for name in verdicts} == {"cannot be told"}


# ── end to end ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def toy(tiny):
    def make(name, arms):
        experiment = find_experiment(name)
        own = experiment.base.model
        model = replace(own, d=8, d_mlp=16, heads=min(own.heads, 2), layers=min(own.layers, 2))
        base = replace(
            tiny,
            model=model,
            task=replace(tiny.task, distractors=experiment.base.task.distractors),
            prior=replace(tiny.prior, beta=0.0),
            epochs=60,
            log=Log(every=5, keep=20),
            stop=Stop(accuracy=0.0),
        )
        held = ("task.alphabet", "epochs", "log.keep", "stop.extend")
        chosen = {arm: {k: v for k, v in experiment.arms[arm].items() if k not in held} for arm in arms}
        return replace(experiment, base=base, arms=chosen, seeds=2)

    return make


@pytest.mark.parametrize(
    ("name", "arms"),
    [
        ("ib-placement", ["none", "query/key path", "RMS, query/key path"]),
        ("ib-placement-dial", ["q = 16, none", "q = 16, value path"]),
        ("ib-readout-scale", ["lr 0.001, wd 1, α = 1", "lr 0.001, wd 1, α = 10", "lr 0.002, wd 1, α = 1"]),
        ("ib-features", ["α = 1", "α = 10"]),
        ("ib-compressibility", ["nothing", "α = 10", "lr 0.002"]),
        (
            "ib-placement-prior",
            ["none, no prior", "none, oracle", "query/key path, no prior", "query/key path, oracle"],
        ),
        ("ib-placement-authors", ["none", "MLP input", "query/key path", "RMS, MLP input"]),
        ("ib-shortcut-authors", ["none", "MLP input", "query/key path", "value path"]),
        ("ib-scale-authors", ["α = 1", "α = 0.5", "α = 1.5, η/α²", "α = 0.5, η/α², wd·α²", "η/0.5² alone"]),
        ("ib-rates-authors", ["lr 0.001", "lr 0.01", "wd 0.5"]),
        ("ib-kernel-authors", ["α = 1", "α = 0.5, η/α²"]),
        ("ib-compressibility-authors", ["none", "MLP input", "wd 1.5", "α = 0.5"]),
        ("ib-depth-authors", ["none", "both inputs"]),
    ],
)
def test_end_to_end_at_toy_size(toy, tmp_path, name, arms, monkeypatch):
    """Train, probe, judge and draw."""
    monkeypatch.setattr(checkpoints, "MEMORISED", 0.05)
    experiment = toy(name, arms)
    names, configs = zip(*experiment.configs("full"), strict=True)
    stored = train_all(configs, runs=tmp_path / "runs")
    table, curves = run_rows(stored, names)
    about = {"experiment": name, "scale": "full", "device": "cpu"}
    results = Results(about, table, curves, probe_tables(experiment.probes, stored, names))
    rows = rulings(experiment, results)
    assert [row["claim"] for row in rows] == [claim.name for claim in experiment.claims]
    json.dumps(rows, allow_nan=False)
    stems = draw([(experiment, results, tmp_path)]).paths
    assert len(stems) == len(experiment.pictures)
    assert all(stem.with_suffix(".png").stat().st_size > 10_000 for stem in stems)
