"""Numbers of the search experiments: what counts as found and as sooner, and rules on made-up tables."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from grokscope.config import RunConfig
from grokscope.experiments.base import find_experiment
from grokscope.experiments.collected import registered
from grokscope.experiments.ledger import rulings
from grokscope.papers.search.found import fewer, is_true, settings_for
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
    found = {
        share: [v for id, v in verdicts(name, column, share).items() if id.endswith(f"/{claim}")]
        for share in (good, bad)
    }
    assert found == {good: ["agrees"], bad: ["disagrees"]}
