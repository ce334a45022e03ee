"""The forecasts of a claim are made once for all its cases, and anew for other results."""

import pandas as pd

from grokscope.papers.causes import forecasts
from grokscope.store.results import Results


def test_a_predictor_is_fitted_once_for_all_cases(monkeypatch):
    fitted = []

    def out_of_fold(kind, table, split):
        fitted.append(kind)
        return pd.DataFrame({"run": ["a"], "middle": [float(len(fitted))]})

    monkeypatch.setattr(forecasts, "out_of_fold", out_of_fold)
    monkeypatch.setattr(forecasts, "table_at", lambda pool: pool)
    monkeypatch.setattr(forecasts, "_made", {})
    one, two = (Results({}, pd.DataFrame({"run": ["a"]}), pd.DataFrame()) for _ in range(2))
    first = forecasts.forecasts(one, "combined")
    assert forecasts.forecasts(one, "combined") is first
    assert forecasts.forecasts(one, "fourier")["middle"].tolist() == [2.0]
    assert forecasts.forecasts(one, "combined") is first
    assert forecasts.forecasts(two, "combined")["middle"].tolist() == [3.0]
    assert fitted == ["combined", "fourier", "combined"]
