"""What forecasts need of a checkpoint, and the Langevin chains of its learning coefficient."""

import json

import numpy as np
import pandas as pd
import pytest
import safetensors.torch
import torch

from grokscope.errors import StoreError
from grokscope.forecast.runs import observe
from grokscope.probes import StoredRun
from grokscope.probes import evaluate as probe
from grokscope.probes import forecast as forecast_probe
from grokscope.probes.learning_coefficient import Coefficient


def test_the_probe_stores_what_forecasts_need(memorised):
    table = probe("forecast", memorised)
    t_mem = memorised.info.summary["t_mem"]
    assert table["epoch"].iloc[0] == t_mem
    assert table["log_D"].iloc[0] == pytest.approx(np.log(memorised.metrics.set_index("epoch")["D"][t_mem]))
    last = table.iloc[-1]
    for name in ("logit_scale", "spectral_entropy", "participation", "class_distance", "gradient_noise", "commutator"):
        assert np.isfinite(last[name]), name
    assert np.isfinite(table["llc_drift"]).any()
    assert {"llc", "llc_unsettled"} & set(table)


@pytest.mark.parametrize(
    ("drift", "value", "name"), [(0.01, 50.0, "llc"), (0.4, 50.0, "llc_unsettled"), (0.0, -5.0, "")]
)
def test_a_value_of_chains_that_have_not_settled_is_marked_and_not_used(memorised, monkeypatch, drift, value, name):
    found = Coefficient(torch.full((4,), value), drift)
    monkeypatch.setattr(forecast_probe, "local_learning_coefficient", lambda *given: found)
    table = probe("forecast", memorised)
    stored = [column for column in ("llc", "llc_unsettled") if column in table]
    assert stored == [name] * bool(name) and table["llc_drift"].dropna().tolist() == [drift]
    if name == "llc":
        assert observe(memorised, "learning-coefficient", 150)["llc"] == pytest.approx(np.log(50))
    else:
        with pytest.raises(
            StoreError, match=r"Langevin chains from epoch 150 have not settled \(drift 0\.\d0, at most 0\.15\)"
        ):
            observe(memorised, "learning-coefficient", 150)


def test_a_calibration_says_which_settings_settle(memorised, run):
    code, out, _ = run("forecast", memorised.id, "--runs", memorised.runs, "--calibrate", "--json")
    (found,) = json.loads(out)
    t_mem = memorised.info.summary["t_mem"]
    assert code == 0 and found["run"] == memorised.id
    assert found["epoch"] == min(epoch for epoch in memorised.epochs if epoch >= t_mem), (
        "the one that the probe starts from"
    )
    assert [row["default"] for row in found["rows"]].count(True) == 1
    settled = [row for row in found["rows"] if row["settled"]]
    assert all(row["llc"] > 0 and abs(row["drift"]) <= 0.15 for row in settled)
    code, out, _ = run("forecast", memorised.id, "--runs", memorised.runs, "--calibrate", "--at", 140)
    assert code == 0 and "checkpoint of epoch 125: the default has" in out


def test_the_numbers_of_a_checkpoint_do_not_depend_on_the_order_of_its_tensors(memorised, monkeypatch):
    once = probe("forecast", memorised)
    load = safetensors.torch.load
    monkeypatch.setattr(safetensors.torch, "load", lambda content: dict(reversed(load(content).items())))
    again = probe("forecast", StoredRun(memorised.info))
    assert np.isfinite(once["llc_drift"]).any()
    pd.testing.assert_frame_equal(once, again, check_exact=True)
