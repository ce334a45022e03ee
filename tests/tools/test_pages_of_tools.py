"""Numbers and pictures that tools put on pages."""

import numpy as np
import pytest

from tools import concept_pictures, readme_page
from tools.equation_page import _sentence


def test_a_sentence_keeps_its_greek_letter():
    assert _sentence("it holds") == "It holds"
    assert _sentence("α = 1") == "α = 1"


def test_only_the_marked_parts_of_a_page_are_rewritten(tmp_path):
    page = tmp_path / "README.md"
    page.write_text(
        "before 7\n<!-- filled: equations -->\nstale 3 equations\n<!-- end -->\nafter 8\n", encoding="utf-8"
    )
    text = readme_page.filled(page)
    assert text.startswith("before 7\n") and text.endswith("<!-- end -->\nafter 8\n")
    assert "stale" not in text and "equations of the papers" in text and "(docs/equations.md)" in text
    page.write_text(text, encoding="utf-8")
    assert readme_page.filled(page) == text


def test_the_clocks_of_the_picture_differ():
    from grokscope.analysis import Criterion

    table = concept_pictures.touches_and_falls()
    first, held, stable = (
        Criterion(clock=c).time(table["epoch"], table["accuracy"]) for c in ("first", "held", "stable")
    )
    assert first < held < stable


def test_a_waiting_run_takes_the_lane_that_is_free_first():
    assert concept_pictures.packed([5, 2, 4, 1, 1], 3) == [(0, 0), (1, 0), (2, 0), (1, 2), (1, 3)]


def test_some_seeds_of_the_picture_are_censored_and_the_median_knows():
    from grokscope.analysis import kaplan_meier, sample

    table = concept_pictures.seeds()
    times = table["t_grok"].to_numpy(dtype=float)
    assert 0 < np.isnan(times).sum() < len(times)
    median = kaplan_meier(sample(times, table["last_epoch"].to_numpy(dtype=float))).median.value
    assert median > np.nanmedian(times)


@pytest.mark.parametrize("name", concept_pictures.PICTURES)
def test_every_concept_has_its_picture_on_its_page(name):
    page = concept_pictures.FOLDER / f"{name}.md"
    assert f"]({name}.svg)" in page.read_text(encoding="utf-8")
    figure = concept_pictures.PICTURES[name]()
    assert all(ax.has_data() for ax in figure.axes)


def test_the_median_named_on_the_page_about_censoring_is_the_picture_s():
    """The last epoch on the page is that of the runs in the picture."""
    text = (concept_pictures.FOLDER / "censoring.md").read_text(encoding="utf-8")
    assert f"trained to epoch {concept_pictures.seeds()['last_epoch'].max()} " in text
