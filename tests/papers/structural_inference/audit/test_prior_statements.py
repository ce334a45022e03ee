"""Thm 5.2 on hand-made runs: the envelope of D and the bound on the delay flip with the numbers they are about."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grokscope.papers.structural_inference.audit import check, proportionality
from grokscope.papers.structural_inference.audit.prior import delay, envelope
from grokscope.priors.constraints import Constraints
from grokscope.priors.entropy import Entropy

NEVER = {"test_accuracy": 0.1}


def test_envelope(make, with_prior):
    """ηβ = 0.005 a step; D falls with 0.01, so c = 2, and it goes on as it began."""
    checked = envelope(make(with_prior()))
    assert checked.verdict == "holds"
    assert checked.numbers["speed"] == pytest.approx(0.005)
    assert checked.numbers["rate_measured"] == pytest.approx(0.01)
    assert checked.numbers["constant"] == pytest.approx(2)
    assert checked.numbers["worst_ratio"] == pytest.approx(1)
    slow = envelope(make(with_prior(), D=lambda e: 0.9 * np.exp(-0.002 * e)))
    assert (slow.verdict, slow.numbers["constant"]) == ("holds", pytest.approx(0.4))  # slower is another constant
    stuck = envelope(make(with_prior(), D=lambda e: np.maximum(0.9 * np.exp(-0.01 * e), 0.09)))
    assert stuck.verdict == "violated"
    assert stuck.numbers["first_violation"] == 240  # e^(−2.3) = 0.1003, e^(−2.4) = 0.091
    power = envelope(make(with_prior(), D=lambda e: 0.9 / (1 + 0.02 * e)))
    assert power.verdict == "violated"
    assert power.numbers["first_violation"] == 100  # the first one after 90, at which D = D_0/2.8


def test_an_envelope_without_a_first_fall_has_no_constant(make, with_prior):
    checked = envelope(make(with_prior(), D=lambda e: 0.9 * np.exp(-0.0005 * e)))
    assert checked.verdict == "not applicable"
    assert "never to D_0/e" in checked.text
    assert delay(make(with_prior(), D=lambda e: 0.9 + 0 * e)).verdict == "not applicable"


def test_the_envelope_follows_the_schedule_of_the_prior(make, with_prior):
    """After a pulse of 200 epochs nothing pulls: D may stay, but not rise."""
    pulse = with_prior(schedule="pulse", span=200.0)

    def then(level):
        return envelope(make(pulse, D=lambda e: np.where(e > 200, 0.9 * level, 0.9 * np.exp(-0.01 * e))))

    assert then(np.exp(-2.0)).verdict == "holds"
    risen = then(0.2)
    assert (risen.verdict, risen.numbers["first_violation"]) == ("violated", 210)


def audits(make, with_prior, exponent, constant=2.0, betas=(0.01, 0.1, 1.0), noise=0.0):
    made = []
    for place, beta in enumerate(np.repeat(betas, 4)):
        spread = np.exp(noise * (-1) ** place)
        rate = spread * constant * 0.005 * (beta / 0.5) ** exponent
        made.append(check(make(with_prior(beta=float(beta)), D=lambda e, rate=rate: 0.9 * np.exp(-rate * e))))
    return made


def test_proportionality_tells_exponents_apart_and_knows_when_it_cannot(make, with_prior):
    fair = proportionality(audits(make, with_prior, 1.0, noise=0.1, betas=(0.3, 0.5, 1.0)))
    assert fair.verdict == "holds"
    assert fair.numbers["exponent"] == pytest.approx(1, abs=0.05)
    root = proportionality(audits(make, with_prior, 0.5, noise=0.1))
    assert (root.verdict, root.numbers["exponent"]) == ("violated", pytest.approx(0.5, abs=0.05))
    unsure = proportionality(audits(make, with_prior, 1.0, noise=1.0, betas=(0.3, 0.5, 1.0)))
    assert (unsure.verdict, "neither" in unsure.text) == ("not applicable", True)
    assert "takes 3" in proportionality(audits(make, with_prior, 1.0, betas=(0.3, 1.0))).text


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
    """δ_nec = log(1/0.6) = 0.511, D_0 = 0.9, β̃ = 0.01: at most log(0.9/0.511)/0.01 = 56.6 steps, and it took 500."""
    checked = delay(make(with_prior()))
    assert checked.verdict == "violated"
    assert checked.numbers["bound"] == pytest.approx(57)  # the step at which it is reached
    assert checked.numbers["delay"] == 500
    assert checked.numbers["t_delta"] == 60
    soon = delay(make(with_prior(), test_accuracy=lambda e: np.where(e >= 150, 1.0, 0.1)))
    assert (soon.verdict, soon.numbers["delay"]) == ("holds", 50)
    weak = delay(make(with_prior(beta=0.001)))  # a weaker prior with the same fall of D has a larger constant
    assert weak.numbers["bound"] == pytest.approx(57)


def test_delay_without_room(make, with_prior, replayed):
    empty = delay(make(with_prior(), nets=(replayed(margin=1.0),)))  # δ_nec = 3 > D_0
    assert (empty.verdict, empty.empty, empty.numbers["bound"]) == ("violated", True, 0.0)
    assert delay(make(with_prior(), nets=(replayed(margin=24.0),))).verdict == "not applicable"
    assert delay(make(with_prior(), nets=())).verdict == "not applicable"
    assert delay(make(with_prior(), **NEVER)).verdict == "violated"
    slow = {"D": lambda e: 0.9 * np.exp(-0.0012 * e), "nets": (replayed(margin=16.0),)}  # δ_nec = 0.22: 1,160 steps
    assert delay(make(with_prior(), **slow, **NEVER)).verdict == "not applicable"
