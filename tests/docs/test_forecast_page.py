"""The table of docs/forecast.md is that of the stored results."""

import json
import math
from dataclasses import asdict

import pytest

from grokscope.forecast.data import load_pool
from grokscope.forecast.evaluate import evaluate
from tools import forecast_page


@pytest.fixture(scope="module")
def stored():
    return json.loads(forecast_page.STORED.read_text(encoding="utf-8"))


def test_the_page_is_filled_from_the_stored_scores(stored, tmp_path, monkeypatch, capsys):
    page = forecast_page.PAGE.read_text(encoding="utf-8")
    assert forecast_page.main(["--check"]) == 0
    assert {name for _, name, _ in forecast_page.PART.findall(page)} == set(forecast_page.FILLERS)
    assert forecast_page.DRAWN.exists()
    other = json.loads(json.dumps(stored))
    other["scores"][0]["auroc"] = 0.123
    assert "0.12" in forecast_page.filled(page, other) and forecast_page.filled(page, other) != page
    monkeypatch.setattr(forecast_page, "inputs", lambda: {"forecast-dial": "crc32=0"})
    assert forecast_page.main(["--check"]) == 1
    assert capsys.readouterr().err == "docs/forecast.md is stale: run python -m tools.forecast_page\n"


def test_public_figures_stand_beside_ours(stored):
    text = forecast_page.public(stored)
    for figure in ("17.7 %", "950 ± 250", "AUROC 0.93", "2605.08237"):
        assert figure in text
    assert text.count("\n") == 1 + len(forecast_page.PUBLIC)


def test_features_cost_at_most_a_tenth_of_training(stored):
    assert stored["cost"]["share"] <= 0.1


@pytest.mark.slow
def test_the_stored_scores_are_those_of_the_results(stored):
    found, horizon = evaluate(load_pool(forecast_page.RESULTS), ["constant"])
    assert horizon == stored["horizon"]
    for own, row in zip(found, [row for row in stored["scores"] if row["predictor"] == "constant"], strict=True):
        for name, value in asdict(own).items():
            if isinstance(value, float) and math.isfinite(value):
                assert value == pytest.approx(row[name], rel=1e-3, abs=1e-3), name
