"""Columns of the structural-inference claims, on curves whose numbers are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from grokscope.experiments.base import all_experiments
from grokscope.experiments.columns import values
from grokscope.papers.structural_inference.audit.probe import TABLE
from grokscope.store.results import Results

EPOCHS = np.arange(0, 1001, 10)


def results(rows=({},), probes=None, **curve):
    """Runs that memorise at 100, see the gradient return at 600 and grok at 800; `rows` replace fields, `curve` metrics."""
    all_experiments()  # registers the columns
    base = {"arm": "a", "t_mem": 100.0, "t_c": 600.0, "t_grok": 800.0, "epoch": 1000}
    runs = pd.DataFrame([{**base, "run": f"r{i}", "seed": i, **row} for i, row in enumerate(rows)])
    metrics = {name: value(EPOCHS) if callable(value) else value for name, value in curve.items()}
    curves = pd.concat(pd.DataFrame({"epoch": EPOCHS, "run": run, **metrics}) for run in runs["run"])
    return Results({}, runs, curves, probes or {})


def only(found, name):
    return values(found, name).tolist()


def test_changes_over_the_plateau_end_where_the_gradient_returns():
    found = results(
        [{}, {"t_c": None}, {"t_grok": None, "t_c": None}],
        logit_variance=lambda e: np.exp(-e / 100.0),
        entropy=lambda e: e / 1000,
    )
    assert only(found, "change of the logit variance") == pytest.approx([-5, -7, np.nan], nan_ok=True)
    assert only(found, "change of the entropy") == pytest.approx([0.5, 0.7, np.nan], nan_ok=True)


@pytest.mark.parametrize("exponent", [0.5, 1.0])
def test_the_exponent_of_the_gradient_is_that_of_the_plateau(exponent):
    def gradient(e):
        return np.where(e < 100, 7.0, np.exp(-e / 200.0) ** exponent)  # before t_mem something else

    found = results(train_loss=lambda e: np.exp(-e / 200.0), grad_M=gradient)
    assert only(found, "exponent of the gradient in the loss") == pytest.approx([exponent])


def test_ratios_to_the_bound():
    found = results(
        [{"bound_ratio": 0.01, "gradient_fall": 0.001}, {"bound_ratio": 1.0, "gradient_fall": None}],
        bound_ratio=lambda e: np.where(e < 100, 0.1, 0.001),
    )
    assert only(found, "log10 of the largest ratio to the bound") == pytest.approx([-2, 0])
    assert only(found, "log10 change of the ratio at memorisation") == pytest.approx([-2, -2])
    assert only(found, "log10 of the fall of the attention gradient") == pytest.approx([-3, np.nan], nan_ok=True)


def test_flags_apply_to_runs_that_grok():
    rows = [{"loss_bump": 1.2}, {"loss_bump": 1.05, "t_c": None}, {"loss_bump": 1.0}]
    found = results([*rows, {"t_grok": None, "t_c": None, "loss_bump": None}])
    assert only(found, "attention gradient returned") == pytest.approx([1, 0, 1, np.nan], nan_ok=True)
    assert only(found, "train loss rose by 1 %") == pytest.approx([1, 1, 0, np.nan], nan_ok=True)
    assert only(found, "train loss rose by 10 %") == pytest.approx([1, 0, 0, np.nan], nan_ok=True)


def test_the_norm_changes_between_memorising_and_grokking():
    norms = {"mlp_norm_mem": 40.0, "mlp_norm_grok": 20.0}
    found = results([norms, {**norms, "t_mem": 800.0}])
    assert only(found, "log change of the MLP norm") == pytest.approx([np.log(0.5), np.nan], nan_ok=True)


def test_the_operand_vocabulary_has_most_symbols():
    assert only(results([{"task.alphabet": q} for q in ("1", "16", "operands")]), "symbols") == [1, 16, np.inf]


def test_what_the_norm_predicts_is_removed_arm_by_arm():
    generator = np.random.default_rng(0)
    norm, rest = generator.normal(size=(2, 60))
    rows = [
        {"D_mem": n + 0.1 * r, "mlp_norm_mem": n, "arm": "ab"[i % 2]}
        for i, (n, r) in enumerate(zip(norm, rest, strict=True))
    ]
    left = values(results(rows), "D at memorisation, MLP norm removed")
    for arm in (0, 1):
        own = slice(arm, None, 2)
        assert abs(np.corrcoef(left.iloc[own], pd.Series(norm[own]).rank())[0, 1]) < 1e-9
        assert np.corrcoef(left.iloc[own], rest[own])[0, 1] > 0.4


def test_mass_of_heads_at_the_end():
    found = results([{"model.heads": 4}], mass_mean=0.2, mass_best_head=lambda e: e / 10_000)
    assert only(found, "summed mass at the end") == pytest.approx([0.8])
    assert only(found, "mass of the best head at the end") == pytest.approx([0.1])
    assert only(results(mass_mean=0.4), "mass of the best head at the end") == pytest.approx([0.4])


def test_divergence_when_accuracy_rises():
    found = results([{}, {"t_grok": None}], test_accuracy=lambda e: e / 1000, D=lambda e: 1 - e / 1000)
    assert only(found, "D at 10 % test accuracy") == pytest.approx([0.9, np.nan], nan_ok=True)


def test_accuracy_at_lengths_is_that_of_the_last_checkpoint():
    rows = [
        ("r0", epoch, length, (epoch / 100 - (length - 6)) / 10) for epoch in (500, 1000) for length in range(6, 13)
    ]
    table = pd.DataFrame(rows, columns=["run", "epoch", "length", "accuracy"]).assign(arm="a", seed=0)
    found = results(probes={"lengths": table})
    names = ("accuracy in length", "accuracy at 2 more", "accuracy at 6 more")
    assert [only(found, name)[0] for name in names] == pytest.approx([1.0, 0.8, 0.4])


def test_an_empty_statement_counts_neither_way():
    rows = [("r0", "holds", False), ("r1", "holds", True), ("r2", "violated", True), ("r3", "not applicable", False)]
    table = pd.DataFrame(rows, columns=["run", "verdict", "empty"]).assign(number="Eq. 52", arm="a", seed=0)
    found = results([{}] * 4, probes={TABLE: table})
    assert only(found, "audit: Eq. 52") == pytest.approx([1, np.nan, 0, np.nan], nan_ok=True)
