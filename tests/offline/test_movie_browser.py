"""The movie of a page in the browser: stopped, played again, and still for readers who ask for less motion."""

from __future__ import annotations

import pytest
from PIL import Image

from grokscope.figures.movie import animated
from grokscope.report.page import Page, render
from grokscope.report.pictures import Picture

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
COLOURS = ("red", "lime", "blue")
SHOWN = """async image => {
  await image.decode();
  const seen = document.createElement("canvas").getContext("2d");
  seen.drawImage(image, 0, 0, 1, 1);
  return [...seen.getImageData(0, 0, 1, 1).data.slice(0, 3)].map(value => value > 127);
}"""
"""Which of red, green and blue a picture has: of an animation its first frame."""
FIRST, LAST = [True, False, False], [False, False, True]


@pytest.fixture(scope="module")
def movie(tmp_path_factory):
    frames = [Image.new("RGB", (60, 20), colour) for colour in COLOURS]
    picture = Picture(
        name="movie",
        title="A run",
        caption="Colours.",
        alt="Animation: colours.",
        width=0.6,
        height=0.2,
        small=animated(frames, "webp"),
        still=animated(frames[-1:], "webp"),
    )
    page = tmp_path_factory.mktemp("movie") / "index.html"
    page.write_text(render(Page(title="Movie", opening=picture, command="grokscope demo")), encoding="utf-8")
    return page


def test_a_movie_is_stopped_and_played_again(visit, movie):
    page = visit(movie)
    image = page.get_by_role("img", name="Animation: colours.")
    assert image.evaluate(SHOWN) == FIRST
    began = image.get_attribute("src")
    page.get_by_role("button", name="Stop A run").click()
    assert image.evaluate(SHOWN) == LAST
    page.get_by_role("button", name="Play A run from the beginning").click()
    assert image.evaluate(SHOWN) == FIRST
    assert image.get_attribute("src") != began  # the same address would go on where it was


def test_less_motion_shows_the_last_frame_until_it_is_played(visit, movie):
    page = visit(movie, reduced_motion="reduce")
    image = page.get_by_role("img", name="Animation: colours.")
    assert image.evaluate(SHOWN) == LAST
    page.get_by_role("button", name="Enlarge A run").click()
    assert page.locator("dialog img").evaluate(SHOWN) == LAST
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Play A run from the beginning").click()
    assert image.evaluate(SHOWN) == FIRST


def test_a_movie_is_enlarged(visit, movie):
    page = visit(movie)
    page.get_by_role("button", name="Enlarge A run").click()
    assert page.locator("dialog img").bounding_box()["width"] > 60
