"""Captions say what is drawn: thin lines only where there are any."""

from __future__ import annotations

import pytest

from grokscope import figures
from grokscope.experiments.gallery import without_seeds
from grokscope.figures.captions import full_caption, spread_words
from grokscope.report.pictures import picture_of

THIN, BAND, MEDIAN = (
    "Thin lines are seeds",
    "the band around it their middle half",
    "A line is the median of its seeds.",
)


def test_a_page_without_the_lines_of_seeds_does_not_speak_of_them(runs):
    figure = figures.accuracy_and_divergence(runs)
    assert THIN in spread_words(figure)
    without_seeds(figure)
    assert BAND in spread_words(figure)
    assert THIN not in full_caption("Look.", figure)


@pytest.mark.parametrize(("seeds", "said"), [(1, ""), (2, ""), (3, THIN), (41, BAND)])
def test_one_or_two_runs_have_no_median_and_many_no_lines(seeds, said, make):
    words = spread_words(figures.accuracy_and_divergence([make(seed=seed, last=20) for seed in range(seeds)]))
    assert words.startswith(said) if said == THIN else said in words
    assert bool(words) == bool(said)


def test_many_arms_have_medians_alone(make):
    figure = figures.train_and_test([make(f"β = {n}", seed=s, last=20) for n in range(5) for s in range(3)])
    assert spread_words(figure) == MEDIAN


def test_the_caption_of_a_report_follows_the_picture(make):
    spec = figures.figures.spec("accuracy")
    of = {seeds: picture_of(spec, [make(seed=s, last=20) for s in range(seeds)], png=True) for seeds in (1, 3)}
    assert THIN in of[3].caption and "seeds, the" not in of[1].caption
    assert of[1].caption == spec.caption
