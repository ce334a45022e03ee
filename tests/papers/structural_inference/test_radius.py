"""The picture of norm matching: it says how many runs generalise, also when none does."""

from __future__ import annotations

import pandas as pd
import pytest

from grokscope.errors import ConfigError
from grokscope.figures import to_svg
from grokscope.papers.structural_inference.figures.radius import accuracy_by_radius
from grokscope.store.results import Results


def results(best: dict[str, float]) -> Results:
    rows = [
        {"run": f"{arm}{seed}", "arm": arm, "seed": seed, "best_test_accuracy": value}
        for arm, value in best.items()
        for seed in range(3)
    ]
    return Results({}, pd.DataFrame(rows), pd.DataFrame(), {})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.5, "none of 9 runs of fixed\nnorm reaches 99 %"),
        (0.995, "3 of 9 runs of fixed\nnorm reach 99 %"),
    ],
)
def test_each_regime_says_how_many_runs_generalise(value, said):
    arms = {"radius 15, oracle": 0.6, "radius 17.9, oracle": value, "radius 17.9, no prior": 0.1}
    arms |= {"weight decay, oracle": 1.0}
    figure = accuracy_by_radius(
        results({f"{regime}, {a}": v for regime in ("q = 1", "q = 16") for a, v in arms.items()})
    )
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["q = 1", "q = 16"]
    assert [text.get_text() for ax in figure.axes for text in ax.texts] == [said] * 2
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["oracle", "no prior"]
    assert figure.axes[0].get_xticklabels()[-1].get_text() == "weight\ndecay"
    medians = [line for line in figure.axes[0].lines if line.get_gid() == "median"]
    assert list(medians[0].get_ydata()) == [0.6, value]
    to_svg(figure)


def test_arms_without_a_radius_are_refused():
    with pytest.raises(ConfigError, match="none is named like `radius 20, oracle`"):
        accuracy_by_radius(results({"no prior": 0.5}))
