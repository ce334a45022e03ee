"""Thm 5.2 on hand-made runs: the envelope of D and the bound on the delay flip with the numbers they are about."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grokscope.papers.structural_inference.audit.prior import delay, envelope
from grokscope.priors.constraints import Constraints
from grokscope.priors.entropy import Entropy

NEVER = {"test_accuracy": 0.1}


def test_envelope(make, with_prior):
    """β̃ = 0.005 a step; D falls with 0.01."""
    checked = envelope(make(with_prior()))
    assert checked.verdict == "holds"
    assert checked.numbers["speed"] == pytest.approx(0.005)
    assert checked.numbers["rate_measured"] == pytest.approx(0.01)
    assert checked.numbers["rate_ratio"] == pytest.approx(2)
    assert checked.numbers["worst_ratio"] == pytest.approx(1)
    slow = envelope(make(with_prior(), D=lambda e: 0.9 * np.exp(-0.001 * e)))
    assert slow.verdict == "violated"
    assert slow.numbers["first_violation"] == 10
    assert slow.numbers["violations"] == 100
    assert slow.numbers["rate_measured"] == pytest.approx(0.001)
    stuck = envelope(make(with_prior(), D=lambda e: np.maximum(0.9 * np.exp(-0.01 * e), 0.09)))
    assert stuck.verdict == "violated"
    assert stuck.numbers["first_violation"] == 470  # e^(−0.005 · 460) = 0.1003, e^(−0.005 · 470) = 0.095


def test_the_envelope_follows_the_schedule_of_the_prior(make, with_prior):
    """A pulse of 100 epochs is worth e^(−0.5) and no more."""
    pulse = with_prior(schedule="pulse", span=100.0)

    def reaching(end):
        return envelope(make(pulse, D=lambda e: 0.9 * np.where(e >= 100, np.exp(-end), np.exp(-0.0051 * e))))

    assert reaching(0.51).verdict == "holds"
    short = reaching(0.49)
    assert (short.verdict, short.numbers["first_violation"]) == ("violated", 100)


@pytest.mark.parametrize(
    ("prior", "why"),
    [
        ({"beta": 0.0}, "β = 0"),
        ({"target": "adversarial"}, "the target is not the oracle, but adversarial"),
        ({"target": "uniform"}, "the target is not the oracle, but uniform"),
    ],
)
def test_the_prior_statements_need_the_oracle(make, with_prior, prior, why):
    for statement in (envelope, delay):
        checked = statement(make(with_prior(**prior)))
        assert (checked.verdict, checked.text) == ("not applicable", why)


def test_the_prior_statements_need_the_kl_prior_and_learned_attention(make, config, with_prior):
    other = replace(config, prior=Entropy(beta=1.0))
    frozen = replace(with_prior(), constraint=Constraints(attention="oracle"))
    for statement in (envelope, delay):
        assert "entropy" in statement(make(other)).text
        assert "frozen" in statement(make(frozen)).text


def test_delay(make, with_prior, replayed):
    """δ_nec = log(1/0.6) = 0.511 and D_0 = 0.9: at most log(0.9/0.511)/0.005 = 113.3 steps, and it took 500."""
    checked = delay(make(with_prior()))
    assert checked.verdict == "violated"
    assert checked.numbers["bound"] == pytest.approx(114)  # the step at which it is reached
    assert checked.numbers["delay"] == 500
    assert checked.numbers["t_delta"] == 60
    soon = delay(make(with_prior(), test_accuracy=lambda e: np.where(e >= 200, 1.0, 0.1)))
    assert (soon.verdict, soon.numbers["delay"]) == ("holds", 100)
    weak = delay(make(with_prior(beta=0.001)))
    assert (weak.verdict, weak.numbers["bound"]) == ("holds", None)


def test_delay_without_room(make, with_prior, replayed):
    empty = delay(make(with_prior(), nets=(replayed(margin=1.0),)))  # δ_nec = 3 > D_0
    assert (empty.verdict, empty.empty, empty.numbers["bound"]) == ("violated", True, 0.0)
    assert delay(make(with_prior(), nets=(replayed(margin=24.0),))).verdict == "not applicable"
    assert delay(make(with_prior(), nets=())).verdict == "not applicable"
    assert delay(make(with_prior(), **NEVER)).verdict == "violated"
    assert delay(make(with_prior(beta=0.001), **NEVER)).verdict == "not applicable"
