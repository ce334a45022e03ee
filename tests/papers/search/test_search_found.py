"""Numbers of the search experiments: what counts as found and as sooner, and rules on made-up tables."""

import math
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from grokscope.config import RunConfig, Stop
from grokscope.experiments.base import find_experiment
from grokscope.experiments.collected import Finished, registered
from grokscope.experiments.ledger import rulings
from grokscope.launch.local import train_all
from grokscope.papers.search import found
from grokscope.papers.search.found import beside, fewer, is_true, settings_for
from grokscope.priors.kl import KL
from grokscope.searching import search, training
from grokscope.searching.rivals.base import Outcome
from grokscope.store import read_metrics
from grokscope.store.results import load_results
from grokscope.tasks.modular import Modular
from grokscope.tasks.parity import Parity
from tests.experiments.tables import results_of

NAMES = ["length", "alphabet", "tasks", "null", "placement", "rivals", "parity"]


@pytest.mark.parametrize(
    ("own", "other", "horizon", "wanted"),
    [
        (100, 200, 300, 1.0),
        (200, 100, 300, 0.0),
        (100, None, 300, 1.0),
        (None, 100, 300, 0.0),
        (None, None, 300, None),
        (400, None, 300, None),
    ],
)
def test_what_counts_as_fewer_run_steps(own, other, horizon, wanted):
    assert fewer(own, other, horizon) == wanted


def test_what_counts_as_the_true_support():
    config = RunConfig(task=Modular(p=11, distractors=3, positions=(3, 1)))
    assert is_true(config, "positions", (1, 3))
    assert is_true(config, "relative", (2, 4))
    assert not is_true(config, "positions", (1, 2)) and not is_true(config, "positions", (1, 2, 3))


def test_k_is_given_only_where_there_are_many_tokens():
    short, long = RunConfig(task=Modular(distractors=2)), RunConfig(task=Parity(n=20, k=3))
    assert settings_for(short).k is None
    assert settings_for(long).k == 3
    assert settings_for(long).budget >= 2 * math.comb(20, 3) * 750
    placed = replace(short, task=Modular(placement="random", alphabet=4))
    assert settings_for(placed).family == "classes"


@pytest.mark.parametrize(
    ("task", "enumerated"),
    [
        (Modular(distractors=62), True),
        (Parity(n=20, k=3), True),
        (Parity(n=40, k=3), False),
        (Modular(distractors=64), False),
    ],
)
def test_all_subsets_are_candidates_where_there_are_few(task, enumerated):
    settings = settings_for(RunConfig(task=task, epochs=100))
    assert bool(settings.budget) is enumerated
    k, tokens = settings.k, task.shape.length - 1
    if enumerated:
        assert 0.75 * settings.budget >= 75 * math.comb(tokens, k)


@pytest.mark.parametrize("name", NAMES)
def test_what_trains_is_not_collected_beside_training(name):
    assert find_experiment(f"search-{name}").needs_device


def test_solvers_and_search_share_the_runs_of_the_parities():
    tasks, parity = (
        {(arm, config.id) for arm, config in find_experiment(f"search-{name}").configs("full")}
        for name in ("tasks", "parity")
    )
    assert parity <= tasks and len(parity) == 80


@pytest.mark.parametrize(
    ("searched", "solved", "wanted"), [(True, True, 0.0), (True, False, 1.0), (False, True, 0.0), (False, False, 0.0)]
)
def test_what_a_solver_misses_is_what_only_the_search_finds(searched, solved, wanted, plain_runs, monkeypatch):
    run, true = plain_runs[0], (0, 1)
    done = SimpleNamespace(support=list(true) if searched else None, family="positions")
    monkeypatch.setattr(found, "tournaments_of", lambda *which: {run.info.id: done})
    outcome = Outcome("gf2", true if solved else (1, 2), 0, None, None)
    monkeypatch.setattr(found, "outcomes_of", lambda *which: {run.info.id: outcome})
    assert registered["gf2_missed"](run) == wanted


def test_the_picture_shows_the_search_beside_the_solvers():
    experiment = find_experiment("search-parity")
    results = results_of(**{arm: [100] * 4 for arm in experiment.arms})
    columns = dict.fromkeys(experiment.collected, 1.0) | {"search_found": [1.0, 0.0, 0.0, 0.0] * 2}
    (axes,) = experiment.pictures["found"](results._replace(runs=results.runs.assign(**columns))).axes
    rows = [label.get_text() for label in axes.get_yticklabels()]
    shares = dict(zip(rows, [line.get_xdata()[0] for line in axes.lines], strict=True))
    assert shares["parity (20, 3), search"] == 25.0 and shares["parity (40, 3), gf2"] == 100.0
    assert "1 of 4" in [text.get_text() for text in axes.texts]


@pytest.fixture
def plain_runs(tiny, tmp_path):
    """Runs of an experiment: two seeds of plain training, with examples set aside."""
    task = Modular(p=11, distractors=1, alphabet="operands", train_fraction=0.8, validation=0.1, confirmation=0.1)
    config = replace(tiny, task=task, prior=KL(), epochs=80, stop=Stop(accuracy=0.0), exact=True)
    runs = train_all([replace(config, seed=seed) for seed in range(2)], runs=tmp_path, device="cpu")
    others = {run.id: run for run in runs}
    return [Finished(run, read_metrics(run).to_pandas(), others) for run in runs]


def test_the_searches_of_all_runs_are_made_together(plain_runs, tmp_path, monkeypatch):
    calls = []
    train = training.train_in_memory
    monkeypatch.setattr(training, "train_in_memory", lambda own, **how: calls.append(len(own)) or train(own, **how))
    claimed = [registered["search_claimed"](run) for run in plain_runs]
    assert calls[0] == 14, "the first rung of both"
    number = len(calls)
    assert all(registered["search_decided"](run) > 0 for run in plain_runs) and len(calls) == number
    alone = [
        search(replace(run.config, exact=False), settings=settings_for(run.config), runs=tmp_path) for run in plain_runs
    ]
    assert claimed == [float(one.found) for one in alone]


def test_the_runs_of_all_rivals_are_trained_together(plain_runs, tmp_path, monkeypatch):
    calls = []
    train = training.train_all
    monkeypatch.setattr(training, "train_all", lambda own, **how: calls.append(len(own)) or train(own, **how))
    asked = ("search_found", "gf2_found", "entropy_found", "entropy_steps", "stg_later", "teacher_found")
    together = [run._replace(asked=asked) for run in plain_runs]
    assert {registered["entropy_found"](run) for run in together} <= {0.0, 1.0}
    assert calls == [2 * (3 + 3 + 1), 2], "three strengths of two rivals, and a teacher; then its pupil"
    names = beside("stg", asked)
    assert names == ("entropy", "stg", "teacher") and beside("gf2", asked) == ("gf2",)
    which = found._experiment(together[0])[:3]
    outcomes = found.outcomes_together(names, *which)
    assert len(calls) == 2 and len(outcomes) == 6
    for name in names:
        alone = tmp_path / name
        for id in which[1]:
            shutil.copytree(tmp_path / id, alone / id)
        apart = found.outcomes_together((name,), str(alone), *which[1:])
        assert apart == {key: outcome for key, outcome in outcomes.items() if key[0] == name}


@pytest.mark.parametrize("name", NAMES)
def test_every_number_is_registered(name):
    assert set(find_experiment(f"search-{name}").collected) <= set(registered)


def verdicts(name, column, share, seeds=80):
    """Verdicts on a table in which `column` is 1 in a share of the runs of every arm."""
    experiment = find_experiment(name)
    results = results_of(**{arm: [100] * seeds for arm in experiment.arms})
    true = [float(place < share * seeds) for place in range(seeds)] * len(experiment.arms)
    columns = dict.fromkeys(experiment.collected, 0.0) | {column: true}
    results = results._replace(runs=pd.DataFrame(results.runs).assign(**columns))
    return {row["id"]: row["verdict"] for row in rulings(experiment, results)}


@pytest.mark.parametrize(
    ("name", "claim", "column", "good", "bad"),
    [
        ("search-length", "found", "search_found", 1.0, 0.2),
        ("search-length", "sooner", "search_sooner", 1.0, 0.2),
        ("search-tasks", "found", "search_found", 1.0, 0.2),
        ("search-null", "false-alarms", "search_claimed", 0.0, 0.5),
        ("search-placement", "found", "search_found", 1.0, 0.2),
        ("search-alphabet", "not-where-free", "plain_sooner", 1.0, 0.1),
    ],
)
def test_controls_of_the_rules(name, claim, column, good, bad):
    said = {
        share: [v for id, v in verdicts(name, column, share).items() if id.endswith(f"/{claim}")]
        for share in (good, bad)
    }
    assert said == {good: ["agrees"], bad: ["disagrees"]}


def test_what_is_said_beside_the_verdict_on_placement_is_what_is_stored():
    """No rule judges these columns, so that nothing else would notice."""
    stored = load_results(Path(__file__).parents[3] / "results", "search-placement", "full")
    (claim,) = find_experiment("search-placement").claims
    runs = stored.runs
    wrong, sooner = int((runs["search_claimed"] - runs["search_found"]).sum()), int(runs["search_sooner"].sum())
    assert (runs["search_claimed"] == 1).all()
    assert f"in {wrong} of {len(runs)} a wrong one" in claim.remark
    assert f"than plain training in {sooner} of {len(runs)} seeds" in claim.remark


@pytest.mark.parametrize(("missed", "wanted"), [(0, "agrees"), (30, "disagrees"), (7, "cannot be told")])
def test_controls_of_the_comparison_with_solvers(missed, wanted):
    """Of forty seeds, in so many the search alone names the parity."""
    experiment = find_experiment("search-parity")
    results = results_of(**{arm: [100] * 40 for arm in experiment.arms})
    flags = [float(seed < missed) for seed in range(40)] * len(experiment.arms)
    columns = {f"{name}_missed": flags for name in found.SOLVERS}
    (claim,) = (claim for claim in experiment.claims if claim.name == "no-rarer")
    ruling = claim.rule(results._replace(runs=results.runs.assign(**columns)))
    assert {case.verdict for case in ruling.cases} == {wanted}, ruling.measured
