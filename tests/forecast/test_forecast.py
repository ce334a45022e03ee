"""Forecasts: the regression, the protocol on made-up runs with a known answer, and the command."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from grokscope.config import RunConfig
from grokscope.errors import StoreError
from grokscope.forecast import Forecast, predictors
from grokscope.forecast.data import FOLDS, fold_of, load_pool, table_at
from grokscope.forecast.evaluate import auroc, evaluate, lead_time, out_of_fold
from grokscope.forecast.lognormal import fit
from grokscope.forecast.picture import picture
from grokscope.forecast.runs import forecast_run, observe
from grokscope.forecast.unlike import outside
from grokscope.launch.local import train_all
from grokscope.models.mlp import MLP
from grokscope.optim.adamw import AdamW
from grokscope.probes import StoredRun
from grokscope.store.results import Results, save_results
from grokscope.tasks.modular import Modular

HORIZON = 20_000


def made_up(seeds=24, arms=("q = 1", "q = 16"), noise=0.15, name="si-dial"):
    """Runs whose time to grok is 300 · D^0.7 · e^noise · t_mem; every other metric is noise."""
    draw = np.random.default_rng(0)
    runs, curves = [], []
    for arm in arms:
        for seed in range(seeds):
            t_mem = int(draw.integers(80, 120)) * 5
            divergence = float(np.exp(draw.normal(-2 if arm == "q = 1" else 0, 0.7)))
            grok = t_mem * (1 + 12 * divergence**0.7 * np.exp(noise * draw.normal()))
            reached = grok < HORIZON
            id = f"{arm}/{seed}"
            epochs = np.unique(np.geomspace(1, grok if reached else HORIZON, 120).astype(int))
            table = pd.DataFrame({"epoch": epochs, "run": id, "D": divergence, "entropy": draw.normal(1, 0.1)})
            for metric in ("mlp_norm", "train_loss", "test_loss", "l1", "l2", "grad_M"):
                table[metric] = np.exp(draw.normal(0, 0.1, len(table)))
            for metric in ("fourier_entropy_in", "fourier_entropy_out"):
                table[metric] = draw.normal(3, 0.1)
            curves.append(table)
            runs.append(
                {
                    "run": id,
                    "arm": arm,
                    "seed": seed,
                    "t_mem": t_mem,
                    "t_grok": grok if reached else np.nan,
                    "epoch": epochs[-1],
                    "prior.beta": 0.0,
                    "mlp_norm_grok": 1.0,
                }
            )
    about = {"experiment": name, "scale": "full"}
    return Results(about, pd.DataFrame(runs), pd.concat(curves, ignore_index=True))


@pytest.fixture(scope="module")
def pool():
    return {"si-dial": made_up()}


def test_the_regression_finds_slope_and_spread_in_spite_of_censoring():
    draw = np.random.default_rng(1)
    x = draw.normal(size=(2000, 2))
    log_time = 7 + x @ [1.0, 0.0] + 0.3 * draw.normal(size=2000)
    limit = np.log(2000)
    found = fit(x, np.exp(np.minimum(log_time, limit)), log_time < limit, ridge=0.1)
    np.testing.assert_allclose(found.weights / found.scale, [1.0, 0.0], atol=0.05)
    assert found.sigma == pytest.approx(0.3, rel=0.1)
    assert found.intercept == pytest.approx(7, abs=0.1)


def test_what_has_not_happened_yet_moves_the_forecast():
    early, late = (Forecast(np.array([7.0]), 0.5, np.array([epoch]), np.zeros(1)) for epoch in (100.0, 5000.0))
    assert early.quantile(0.5)[0] == pytest.approx(np.exp(7), rel=0.01)
    assert late.quantile(0.1)[0] >= 5000
    assert late.quantile(0.9)[0] > late.quantile(0.1)[0]
    assert early.by(1e9)[0] == pytest.approx(1)
    assert late.by(4000)[0] == 0


def test_folds_are_fixed_and_every_fold_has_seeds():
    assert {fold_of(seed) for seed in range(40)} == set(range(FOLDS))
    assert [fold_of(seed) for seed in range(5)] == [0, 1, 2, 3, 4]


def test_a_forecast_never_sees_the_run(pool):
    table = table_at(pool)
    before = out_of_fold("divergence", table).set_index("run")
    other = table.copy()
    chosen = other["fold"] == 2
    other.loc[chosen, "time"] *= 100
    after = out_of_fold("divergence", other).set_index("run")
    own = table.loc[chosen, "run"]
    pd.testing.assert_series_equal(before.loc[own, "middle"], after.loc[own, "middle"])
    rest = table.loc[~chosen, "run"]
    assert not np.allclose(before.loc[rest, "middle"], after.loc[rest, "middle"])


def test_too_few_runs_give_no_forecast(pool):
    few = table_at(pool).iloc[:4]
    for table in (few, few.iloc[:0], pd.DataFrame()):
        found = out_of_fold("divergence", table)
        assert found.empty and {"run", "middle", "grokked", "time"} <= set(found)
    assert lead_time({1.0: out_of_fold("divergence", few)}, 1000.0) != 0


def test_features_come_from_the_past(pool):
    early = table_at(pool).set_index("run")
    results = pool["si-dial"]
    changed = results.curves.merge(results.runs[["run", "t_mem"]])
    changed.loc[changed["epoch"] > changed["t_mem"], ["D", "entropy", "mlp_norm", "train_loss"]] = 5.0
    again = table_at({"si-dial": results._replace(curves=changed.drop(columns="t_mem"))}).set_index("run")
    for name in ("log_D", "entropy", "mlp_norm", "mlp_norm_slope", "oscillation"):
        np.testing.assert_array_equal(early[name], again[name])


def test_the_predictor_that_knows_is_the_best_and_the_constant_knows_nothing(pool):
    scores, horizon = evaluate(pool, ["divergence", "constant", "sparsity"])
    by = {(own.predictor, own.protocol): own for own in scores if own.on == "own"}
    good, none = by["divergence", "seeds"], by["constant", "seeds"]
    assert 1000 < horizon < HORIZON
    assert good.auroc > 0.9 and good.error < 0.25 and good.within > 0.8
    assert 0.65 <= good.coverage <= 0.95
    assert 0.3 < none.auroc < 0.7 and none.error > 2 * good.error
    assert by["sparsity", "seeds"].auroc < 0.75
    assert by["divergence", "transfer"].auroc > 0.8
    assert good.lead > none.lead == 0


def with_checkpoints(results, at_once=25, later=45, drift=True):
    """With the feature of a checkpoint in some runs at t_mem, and in more at 1.5 · t_mem."""
    runs = results.runs.assign(place=range(len(results.runs)))
    rows = [
        {"run": run.run, "arm": run.arm, "seed": run.seed, "epoch": multiple * run.t_mem, "llc": llc}
        for run in runs.itertuples()
        for multiple, known in ((1.0, at_once), (1.5, later), (2.0, later))
        for llc in [float(run.place) if run.place < known and multiple < 2 else np.nan]
    ]
    table = pd.DataFrame(rows)
    return results._replace(probes={"forecast": table.assign(llc_drift=0.0) if drift else table})


def test_a_predictor_is_first_scored_where_most_of_its_runs_have_its_features(pool, monkeypatch):
    few = ("divergence", "constant", "learning-coefficient")
    monkeypatch.setattr(predictors, "_entries", {kind: predictors.get(kind) for kind in few})
    scores, _ = evaluate({"si-dial": with_checkpoints(pool["si-dial"])})
    seeds = {(own.predictor, own.on): own for own in scores if own.protocol == "seeds"}
    own = seeds["learning-coefficient", "own"]
    assert own.at == 1.5 and own.runs > 40, "twenty-five runs at t_mem are a selection"
    assert seeds["divergence", "own"].at == 1.0 and seeds["divergence", "own"].runs == 48
    common = [score for score in scores if score.on == "common"]
    assert {(score.at, score.runs) for score in common} == {(1.5, own.runs)}
    alone, _ = evaluate({"si-dial": with_checkpoints(pool["si-dial"])}, ["divergence"])
    assert [score for score in scores if score.predictor == "divergence"] == alone, "whoever else is asked for"


def test_a_feature_that_was_measured_once_stays_known(pool):
    results = {"si-dial": with_checkpoints(pool["si-dial"])}
    once, later = (table_at(results, multiple).set_index("run")["llc"] for multiple in (1.5, 2.0))
    assert later.notna().sum() > 30
    pd.testing.assert_series_equal(once[later.index], later)


def test_learning_coefficients_without_a_drift_are_not_used(pool):
    """They are of chains that were read before they had settled."""
    assert "llc" in table_at({"si-dial": with_checkpoints(pool["si-dial"])}, 1.5)
    assert "llc" not in table_at({"si-dial": with_checkpoints(pool["si-dial"], drift=False)}, 1.5)


def test_a_constant_ranks_the_wrong_way_round_where_an_arm_is_left_out():
    """The mean of the others is low for a slow arm: why AUROC and ρ over all arms together have no 0.5 and 0."""
    scores, _ = evaluate({"si-dial": made_up(arms=("q = 1", "q = 16"), noise=0.05)}, ["constant"])
    found = {own.protocol: own for own in scores if own.on == "own"}
    assert found["transfer"].auroc < 0.25 and found["transfer"].rho < -0.5
    assert abs(found["seeds"].rho) < 0.4


def test_runs_with_a_prior_and_runs_that_grokked_already_are_left_out(pool):
    results = pool["si-dial"]
    told = results.runs.assign(**{"prior.beta": np.where(results.runs["seed"] == 0, 0.3, 0.0)})
    assert 0 not in set(table_at({"si-dial": results._replace(runs=told)})["seed"])
    later = table_at(pool, 10.0)
    assert (later["time"] > later["observed"]).all()
    assert len(later) < len(table_at(pool))


def test_auroc_by_hand():
    assert auroc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True])) == 0.75
    assert auroc(np.ones(4), np.array([False, True, False, True])) == 0.5
    assert np.isnan(auroc(np.ones(2), np.array([True, True])))


def test_lead_time_by_hand():
    def observed(epoch, means):
        return pd.DataFrame(
            {
                "run": list("abcd"),
                "observed": epoch,
                "time": [1000.0, 2000.0, 9000.0, 9000.0],
                "grokked": [True, True, False, False],
                "mean": means,
                "sigma": 0.5,
            }
        )

    tables = {
        1.0: observed(100.0, np.log([1000, 9000, 9000, 9000])),
        2.0: observed(500.0, np.log([1000, 900, 9000, 9e3])),
    }
    assert lead_time(tables, 3000.0) == np.median([1000 - 100, 2000 - 500])


def test_every_predictor_is_described_and_its_features_are_known():
    from grokscope.analysis.plateau_features import COLUMNS

    logged = {*COLUMNS, "log_t_mem", "sparsity", "mlp_norm_slope", "oscillation"}
    network = {
        "logit_scale",
        "spectral_entropy",
        "participation",
        "class_distance",
        "gradient_noise",
        "commutator",
        "llc",
    }
    for kind, cls in predictors.entries().items():
        assert cls.__doc__ and cls.kind == kind
        assert set(cls.columns) <= logged | network


def test_the_picture_has_every_predictor(pool):
    scores, horizon = evaluate(pool, ["divergence", "constant"])
    bars, points = picture(pool, scores, horizon).axes
    assert {text.get_text() for text in bars.get_yticklabels()} == {"divergence", "constant"}
    assert points.get_ylabel() == "forecast by divergence"


def test_a_stored_run_is_forecast(memorised, pool):
    said = forecast_run(memorised, pool, "divergence")
    assert said.low < said.t_grok < said.high
    assert said.epoch == memorised.info.summary["t_mem"]
    assert 0 <= said.chance <= 1 and said.trust
    later = forecast_run(memorised, pool, "divergence", at=120, by=100_000)
    assert later.low >= 120 and later.chance > said.chance


def test_another_predictor_is_asked_where_features_are_missing(memorised, pool):
    thinned = memorised.metrics[memorised.metrics["epoch"].isin([0, memorised.info.summary["t_mem"]])]
    sparse = StoredRun(memorised.info)
    sparse.__dict__["metrics"] = thinned
    said = forecast_run(sparse, pool)
    assert said.predictor == "divergence"
    assert said.note.startswith("combined needs mlp_norm_slope, oscillation") and "divergence instead" in said.note
    with pytest.raises(StoreError, match="has no mlp_norm_slope, oscillation at epoch"):
        forecast_run(sparse, pool, "combined")
    assert forecast_run(memorised, pool).predictor == "combined" and not forecast_run(memorised, pool).note


def test_settings_that_no_run_had_are_named_and_trust_is_low(memorised, pool):
    said = forecast_run(memorised, pool, "divergence")
    assert said.trust.startswith("low: ") and "task.p = 11 (learned from 113)" in said.trust
    runs = pool["si-dial"].runs
    ids = set(runs["run"])
    usual = RunConfig()
    assert outside(usual, pool, ids) == []
    assert outside(replace(usual, optim=AdamW(lr=1e-2)), pool, ids) == ["optim.lr = 0.01 (learned from 0.001)"]
    assert outside(replace(usual, model=MLP()), pool, ids) == ["model.kind = mlp (learned from transformer)"]
    wider = {"si-dial": pool["si-dial"]._replace(runs=runs.assign(**{"task.alphabet": ["1", "operands"] * 24}))}
    for alphabet, inside in ((1, True), ("operands", True), (16, False)):
        config = replace(usual, task=Modular(alphabet=alphabet), seed=7, epochs=5)
        assert (outside(config, wider, ids) == []) is inside
    swept = {"si-dial": pool["si-dial"]._replace(runs=runs.assign(**{"optim.lr": [1e-4, 1e-2] * 24}))}
    assert outside(usual, swept, ids) == [], "between two that were learned from"


def test_bad_input_is_one_line(memorised, pool, run, tmp_path):
    for at, problem in ((1, "memorised at epoch"), (10_000, "was trained to epoch 150")):
        with pytest.raises(StoreError, match=problem):
            observe(memorised, "divergence", at)
    (info,) = train_all([replace(memorised.config, epochs=5)], runs=tmp_path / "short", device="cpu")
    with pytest.raises(StoreError, match="has not memorised by epoch 5"):
        forecast_run(StoredRun(info), pool)
    for words, problem in (
        (("forecast",), "name the runs"),
        (("forecast", "abc", "--evaluate"), "takes no runs"),
        (("forecast", "abc", "--predictor", "divergance"), "Did you mean divergence?"),
        (("forecast", "--evaluate"), "results of"),
        (("forecast", "--evaluate", "--scale", "huge"), "neither full nor quick"),
        (("forecast", "abc", "--picture", "x"), "needs --evaluate"),
        (("forecast", "--evaluate", "--at", "100"), "observed at multiples of t_mem"),
        (("forecast", "--calibrate"), "name the runs"),
        (("forecast", "abc", "--calibrate", "--by", "100"), "does not go with --by"),
        (("forecast", info.id, "--calibrate", "--runs", tmp_path / "short"), "has not memorised by epoch 5"),
    ):
        code, _, err = run(*words)
        assert code == 2 and problem in err and err.count("\n") == 1


def test_runs_without_a_forecast_are_named_beside_those_that_have_one(memorised, pool, run, tmp_path):
    save_results(tmp_path / "results", pool["si-dial"])
    short = [replace(memorised.config, epochs=5, seed=seed) for seed in (3, 4)]
    trained = train_all(short, runs=memorised.runs, device="cpu")
    lost = [f"run {info.id} has not memorised by epoch 5: there is no plateau to forecast from" for info in trained]
    ids = [info.id for info in trained]
    code, out, err = run("forecast", *ids, memorised.id, "--runs", memorised.runs, "--predictor", "divergence")
    assert code == 1 and memorised.id in out and err.splitlines() == lost, "it is no damage"
    code, out, err = run("forecast", *ids, "--runs", memorised.runs)
    assert code == 2 and out == "" and err.splitlines() == lost


def test_a_predictor_that_no_run_has_the_features_of_is_not_evaluated(pool, run, tmp_path):
    save_results(tmp_path / "results", pool["si-dial"])
    code, out, err = run("forecast", "--evaluate", "--predictor", "learning-coefficient")
    problem = "learning-coefficient cannot be scored: at least 20 stored runs must have its features at one epoch"
    assert (code, out, err) == (2, "", f"--evaluate: {problem}\n")


def test_the_command_works_from_stored_results(memorised, pool, run, tmp_path, monkeypatch):
    save_results(tmp_path / "results", pool["si-dial"])
    assert load_pool(tmp_path / "results").keys() == {"si-dial"}
    code, out, _ = run("forecast", memorised.id, "--runs", memorised.runs, "--predictor", "divergence", "--json")
    assert code == 0
    (said,) = json.loads(out)
    assert (said["run"], said["predictor"], said["clock"]) == (memorised.id, "divergence", "first")
    code, out, _ = run("forecast", memorised.id, "--runs", memorised.runs)
    assert code == 0 and "t_grok_first" in out and f"{memorised.id}: trust is low" in out
    few = ("divergence", "constant", "combined")
    monkeypatch.setattr(predictors, "_entries", {kind: predictors.get(kind) for kind in few})
    code, out, _ = run("forecast", "--evaluate", "--json", "--picture", tmp_path / "picture")
    assert code == 0
    assert {own["predictor"] for own in json.loads(out)["scores"]} == set(few)
    assert (tmp_path / "picture.svg").exists()
    code, out, _ = run("forecast", "--evaluate")
    assert code == 0 and "AUROC" in out and "constant" in out and "the runs that have the features of all" in out
    code, out, _ = run("forecast", "--evaluate", "--predictor", "constant", "--json")
    assert code == 0 and {own["predictor"] for own in json.loads(out)["scores"]} == {"constant"}
