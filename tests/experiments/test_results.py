"""The committed results: the ledger in the docs is what they say."""

from pathlib import Path

import pytest

from grokscope.experiments import all_experiments
from grokscope.experiments.ledger import as_markdown, ledger
from grokscope.store.results import load_results

ROOT = Path(__file__).parents[2]


def test_the_ledger_is_rebuilt_from_the_results():
    assert as_markdown(ledger(ROOT / "results")) == (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(all_experiments()))
def test_every_experiment_has_full_results_of_all_its_arms(name):
    experiment = all_experiments()[name]
    results = load_results(ROOT / "results", name, "full")
    assert results is not None
    assert set(results.runs["arm"]) == set(experiment.arms)
    assert (results.runs.groupby("arm").size() >= 5).all()
    assert set(results.curves["run"]) == set(results.runs["run"])
    assert {config.id for _, config in experiment.configs("full")} == set(results.runs["run"])


def test_the_gallery_shows_every_experiment(monkeypatch):
    """Pictures of two experiments stand for all: drawing thirty takes half a minute."""
    from grokscope.experiments import gallery

    chosen = {name: all_experiments()[name] for name in ("si-fig3", "si-critics-lambda")}
    monkeypatch.setattr(gallery, "all_experiments", lambda: chosen)
    page = gallery.gallery(ROOT / "results", "full", "grokscope claims -o gallery.html")
    for experiment in chosen.values():
        assert experiment.question in page
        assert all(claim.statement in page for claim in experiment.claims)
    assert page.count("data:image/") == sum(len(experiment.pictures) for experiment in chosen.values())
