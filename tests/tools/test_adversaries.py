"""Tightness: the recorded witnesses attain their ratios, no true bound is broken, every false one is."""

from __future__ import annotations

import pytest

from grokscope.papers import all_equations
from tools.adversaries import adversaries, findings, search
from tools.adversaries.base import CAP, attained

REFUTED = {(e.paper, number) for e in all_equations() if e.refuted or e.fails_as_restored for number in e.numbers}

every_adversary = pytest.mark.parametrize("key", adversaries, ids=lambda key: f"{key[0]} {key[1]}")


def allowed(key: tuple[str, str]) -> float:
    return CAP if key in REFUTED else 1 + 1e-9


def test_every_adversary_has_a_recorded_finding() -> None:
    assert set(findings()) == set(adversaries)


@every_adversary
def test_the_recorded_witness_attains_its_ratio(key: tuple[str, str]) -> None:
    finding = findings()[key]
    assert attained(adversaries[key], finding.witness) == pytest.approx(finding.ratio, rel=1e-6)
    assert finding.ratio <= allowed(key)
    assert (finding.ratio > 1.001) == (key in REFUTED)


@every_adversary
def test_a_short_search_from_elsewhere_breaks_nothing(key: tuple[str, str]) -> None:
    found = search(adversaries[key], cases=32, steps=40, seed=7)
    assert 0 < found.ratio <= allowed(key)


@pytest.mark.slow
@every_adversary
def test_a_full_search_finds_nothing_tighter(key: tuple[str, str]) -> None:
    found, recorded = search(adversaries[key], seed=1).ratio, findings()[key].ratio
    assert found <= allowed(key)
    if key not in REFUTED:
        assert found <= recorded + 0.005


@pytest.mark.parametrize(("number", "ratio"), [("29", 0.6382), ("4, tight", 0.6382), ("4", 0.6382 / 4)])
def test_how_loose_the_lemma_is_at_its_best(number: str, ratio: float) -> None:
    """sup q/√(−log(1 − q)) = 0.6382 is what Pinsker can give, and α (1 − α) ≤ ¼ takes four times that."""
    assert findings()["structural-inference", number].ratio == pytest.approx(ratio, abs=3e-4)
