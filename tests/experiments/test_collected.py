"""What is kept of a run says what its metrics at full resolution say: times and phases, by a criterion that is recorded."""

from dataclasses import replace

import numpy as np
import pandas as pd

from grokscope.analysis import DEFAULT, FIRST_TOUCH, find_phases, run_times
from grokscope.config import Log
from grokscope.experiments.collect import (
    criterion_of,
    curves_from,
    every_clock,
    fall_time,
    measured,
    phases_from,
    run_rows,
    thin,
)
from grokscope.launch.local import train_all
from grokscope.store import read_metrics
from grokscope.store.results import Results, load_results, save_results

EPOCHS = np.arange(0, 20_001, 20)
NEVER = np.inf


def metrics(points, t_mem=200.0, t_grok=15_000.0):
    """A run whose gradient runs on straight lines on log scales through (epoch, value), and whose accuracies jump."""
    at, values = zip(*points, strict=True)
    return pd.DataFrame(
        {
            "epoch": EPOCHS,
            "train_accuracy": np.where(t_mem <= EPOCHS, 1.0, 0.1),
            "test_accuracy": np.where(t_grok <= EPOCHS, 1.0, 0.1),
            "train_loss": np.geomspace(4, 0.01, len(EPOCHS)),
            "grad_M": np.exp(np.interp(EPOCHS, at, np.log(values))),
            "mlp_norm": 1.0,
        }
    )


STORY = ((0, 1e-3), (150, 1e-1), (300, 1e-3), (10_000, 1e-3), (14_000, 1e-2), (20_000, 1e-2))
RUNS = {
    "all four phases": metrics(STORY),
    "no resurgence": metrics(((0, 1e-3), (150, 1e-1), (300, 1e-3), (20_000, 1e-3))),
    "no plateau": metrics(((0, 1e-2), (200, 1e-1), (20_000, 5e-2))),
    "too few evaluations between": metrics(STORY, t_mem=300, t_grok=340),
    "generalised before it memorised": metrics(STORY, t_mem=600, t_grok=500),
    "generalised, did not memorise": metrics(STORY, t_mem=NEVER),
    "did not grok": metrics(STORY, t_grok=NEVER),
    "did neither": metrics(STORY, t_mem=NEVER, t_grok=NEVER),
    "no attention": metrics(STORY).drop(columns="grad_M"),
    "touched, then grokked": metrics(STORY).assign(
        test_accuracy=np.where((EPOCHS >= 15_000) | (EPOCHS == 5000), 1.0, 0.1)
    ),
}


def stored(tables, about, folder):
    """The runs as the results of an experiment, written and read again."""
    rows = [
        {"run": f"r{i}", "arm": arm, "seed": 0, "status": "done", **measured(t)} for i, (arm, t) in enumerate(tables)
    ]
    curves = [thin(t, row["t_grok"]).assign(run=row["run"]) for (_, t), row in zip(tables, rows, strict=True)]
    about = {"experiment": "toy", "scale": "full", **about}
    save_results(folder, Results(about, pd.DataFrame(rows), pd.concat(curves)))
    return load_results(folder, "toy", "full")


def test_stored_phases_are_those_that_the_rule_finds_at_full_resolution(tmp_path):
    results = stored(list(RUNS.items()), {"criterion": DEFAULT.to_dict()}, tmp_path)
    drawn = {curves.arm: curves for curves in curves_from(results)}
    for arm, table in RUNS.items():
        phases, times = find_phases(table), run_times(table)
        assert drawn[arm].phases == phases.borders, arm
        assert (drawn[arm].t_mem, drawn[arm].t_grok) == (times.t_mem, times.t_grok)
        assert len(drawn[arm].metrics) < len(table)
    names = {arm: [span[0] for span in curves.phases] for arm, curves in drawn.items()}
    assert names["all four phases"] == ["memorisation", "plateau", "resurgence", "grokking"]
    assert names["no plateau"] == names["too few evaluations between"] == names["no attention"]
    assert names["no plateau"] == ["memorisation", "grokking"]
    assert names["generalised before it memorised"] == ["memorisation", "grokking"]


def test_the_whole_of_the_phases_comes_back():
    table = RUNS["all four phases"]
    assert phases_from(measured(table)) == find_phases(table)


def test_real_runs_are_drawn_with_the_phases_of_their_metrics(tiny, tmp_path):
    configs = [replace(tiny, seed=seed, epochs=60, log=Log(every=5)) for seed in range(2)]
    runs = train_all(configs, runs=tmp_path)
    table, curves = run_rows(runs, ["a", "a"])
    drawn = curves_from(Results({"criterion": DEFAULT.to_dict()}, table, curves))
    assert [own.phases for own in drawn] == [find_phases(read_metrics(run).to_pandas()).borders for run in runs]
    assert [own.status for own in drawn] == [run.status for run in runs]


def test_new_results_go_by_the_criterion_and_say_so(tmp_path):
    table = RUNS["touched, then grokked"]
    assert (measured(table)["t_grok"], measured(table, FIRST_TOUCH)["t_grok"]) == (15_000, 5000)
    assert measured(table)["t_grok_first"] == 5000
    results = stored([("a", table)], {"criterion": DEFAULT.to_dict()}, tmp_path)
    assert criterion_of(results) == DEFAULT
    assert curves_from(results)[0].criterion == "test accuracy ≥ 99 %, held 100 epochs"


def test_results_that_do_not_say_are_those_of_the_first_touch(tmp_path):
    results = stored([("a", RUNS["no plateau"])], {}, tmp_path)
    assert criterion_of(results) == FIRST_TOUCH
    assert curves_from(results)[0].criterion == "test accuracy ≥ 99 %, first touch"


def test_three_clocks_at_two_thresholds_and_more():
    epochs = np.arange(0, 2001, 50)
    test = np.select([epochs >= 800, epochs == 500, epochs >= 400], [1.0, 0.1, 0.97], 0.1)
    table = pd.DataFrame({"epoch": epochs, "test_accuracy": test, "train_accuracy": np.where(epochs >= 100, 1.0, 0.0)})
    found = every_clock(table, thresholds=(0.99, 0.95, 0.855))
    assert [found[f"t_{clock}_99"] for clock in ("first", "held", "stable")] == [800, 800, 800]
    assert [found[f"t_{clock}_95"] for clock in ("first", "held", "stable")] == [400, 550, 550]
    assert (found["t_first_85_5"], found["t_mem_first_99"], found["t_mem_stable_95"]) == (400, 100, 100)
    cut = every_clock(table[table["epoch"] <= 1000])
    assert (cut["t_held_99"], cut["t_stable_99"], cut["t_stable_95"]) == (800, None, 550)


def test_the_fall_of_d_is_the_first_evaluation_at_1_over_e():
    table = pd.DataFrame({"epoch": [0, 10, 20, 30], "D": [1.0, 0.4, 0.36, 0.5]})
    assert fall_time(table) == 20
    assert fall_time(table.assign(D=[1.0, 0.9, 0.8, 0.7])) is None
    assert fall_time(table.assign(D=0.0)) is None
