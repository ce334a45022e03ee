"""The page: nothing from outside, everything said, HTML escaped, tags balanced."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from grokscope.analysis import DEFAULT
from grokscope.figures import RunCurves
from grokscope.report import Page, Picture, RunRow, Section, Setting, render, standard_pictures

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Reader(HTMLParser):
    """Collects text and attributes, and fails on tags that do not close in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def picture(**given: object) -> Picture:
    values = {"name": "norm", "title": "Norm", "caption": "Look.", "alt": "A line.", "width": 7.0, "height": 2.0}
    return Picture(**{**values, "svg": '<svg xmlns="http://www.w3.org/2000/svg"/>', "png": b"\x89PNG", **given})  # type: ignore[arg-type]


@pytest.fixture
def page() -> Page:
    return Page(
        title="Does a prior decide?",
        lead="Three priors.",
        verdict=("Yes, it does.", "And how."),
        what=("Addition modulo 59.",),
        arms=(("no prior", "Cross-entropy only."), ("oracle", "A pull onto a and b.")),
        settings=(Setting(name="task.p", value="59", meaning="Modulus."),),
        pictures=(picture(),),
        runs=(
            RunRow(id="3f2a", arm="no prior", seed=0, status="grokked", epochs=12345, t_mem=61, t_grok=1240,
                   train_accuracy="100.0 %", test_accuracy="99.9 %", seconds=31.25),
            RunRow(id="77bc", arm="oracle", seed=1, status="diverged", epochs=10),
        ),
        command="grokscope demo --seeds 0,1 -o page.html",
        versions=(("grokscope", "0.1.0"), ("Python", "3.11")),
    )  # fmt: skip


def test_tags_balance_and_all_is_said(page):
    reader = Reader(render(page))
    assert reader.open == []
    for said in (
        "Does a prior decide?", "Three priors.", "Yes, it does.", "And how.", "Addition modulo 59.",
        "Cross-entropy only.", "task.p", "Modulus.", "Norm", "Look.", "3f2a", "77bc", "12,345", "1,240", "99.9 %",
        "31.2", "diverged", "grokscope demo --seeds 0,1 -o page.html", "grokscope 0.1.0", "Python 3.11",
    ):  # fmt: skip
        assert said in reader.text


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ("done", "never"),
        ("diverged", "diverged"),
        ("stopped", "not yet"),
        ("running", "not yet"),
        ("grokked", "not yet"),
    ],
)
def test_what_has_not_happened_is_said_so(page, status, word):
    html = render(replace(page, runs=(page.runs[0], replace(page.runs[1], status=status))))
    assert html.count(f'<td class="number unreached">{word}</td>') == 2
    assert html.count('<td class="number">–</td>') == 3


def test_the_page_says_by_which_criterion(page):
    text = Reader(render(replace(page, memorised=DEFAULT.describe("train accuracy"), grokked=DEFAULT.describe()))).text
    assert "Grokked: test accuracy ≥ 99 %, held 100 epochs." in text
    assert "Memorised at: train accuracy ≥ 99 %, held 100 epochs. Grokked at: test accuracy ≥ 99 %, held 100" in text
    assert "≥" not in Reader(render(page)).text


def test_nothing_comes_from_outside(page):
    html = render(replace(page, pictures=(picture(), *standard_pictures([curves("plain", None)]))))
    assert re.findall(r"https?://[^\s\"]+", html) == [
        "https://github.com/leeoniya/uPlot"
    ]  # in a comment, with the licence
    assert "Copyright (c) 2022 Leon Sorokin" in html
    reader = Reader(html)
    for _, attributes in reader.tags:
        for name in ("src", "href", "srcset", "action", "data"):
            assert str(attributes.get(name, "data:")).startswith(("data:", "#"))
    assert not reader.of("iframe")
    assert not re.search(r"@import|url\((?!#)", html)
    assert "default-src 'none'" in html


def test_text_is_shown_not_obeyed(page):
    evil = '<script>alert("x")</script>&'
    row = replace(page.runs[0], id=evil, arm=evil, status=evil)
    setting = Setting(name=evil, value=evil, meaning=evil)
    hostile = Page(
        title=evil, lead=evil, verdict=(evil,), what=(evil,), arms=((evil, evil),), settings=(setting,),
        pictures=(picture(title=evil, caption=evil, alt=evil),), runs=(row,), command=evil, versions=((evil, evil),),
    )  # fmt: skip
    html = render(hostile)
    assert "alert(" in html
    assert "<script>alert" not in html
    reader = Reader(html)
    assert len(reader.of("script")) == 2
    assert evil in {drawn.get("aria-label") for drawn in reader.of("svg")}
    # title 2 (tab and headline), lead 1, verdict 1, what 1, arm 2, setting 3, picture 3 (contents, heading, caption), run 3,
    # command 1, version 2
    assert reader.text.count(evil) == 19


def test_readable_on_a_phone_and_in_the_dark(page):
    html = render(page)
    reader = Reader(html)
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in reader.of("meta")
    assert "prefers-color-scheme: dark" in html
    tables = re.findall(r'<div class="scroll"[^>]*>\s*<table', html)
    assert len(tables) == len(reader.of("table")) == 2
    (drawn,) = [own for own in reader.of("svg") if own.get("class") != "swatch"]
    assert (drawn["role"], drawn["aria-label"]) == ("img", "A line.")
    assert (drawn["width"], drawn["height"]) == ("875", "250")


def test_arms_wear_the_colours_of_the_pictures(page):
    swatches = [attributes["stroke"] for attributes in Reader(render(page)).of("path")]
    assert swatches[:2] == ["#0072B2", "#009E73"]


def test_arms_that_share_a_colour_have_swatches_with_dashes(page):
    arms = (("decay = 0.1, no prior", ""), ("decay = 1, no prior", ""), ("oracle", ""))
    swatches = Reader(render(replace(page, arms=arms))).of("path")[:3]
    assert [own["stroke"] for own in swatches] == ["#0072B2", "#0072B2", "#009E73"]
    assert [own["stroke-dasharray"] for own in swatches] == ["none", "8 3.0", "none"]


def test_a_page_with_nothing_but_a_command():
    html = render(Page(title="Bare", command="grokscope demo"))
    assert "This command makes the same page." in html  # a report trains nothing
    reader = Reader(html)
    assert reader.open == []
    assert "grokscope demo" in reader.text
    assert not reader.of("table")
    assert not reader.of("img")


def test_an_animation_is_an_image():
    html = str(picture(small=b"RIFF").element)
    assert html.startswith('<img src="data:image/webp;base64,UklGRg==" alt="A line."')


def test_numbers_and_packed_pictures_can_be_read_back():
    packed = picture(data=[{"series": "a", "x": [1]}], lazy=True)
    assert json.loads(gzip.decompress(b64decode(packed.packed))) == [{"series": "a", "x": [1]}]
    assert gzip.decompress(b64decode(packed.packed_element)).decode() == packed.element
    assert picture().packed == ""


def test_the_outline_names_every_section_and_picture(page):
    shown = replace(page, sections=(Section(name="arms", title="Arms"),))
    assert shown.outline == [
        ("what", "What was run", []),
        ("pictures", "Pictures", [("picture-norm", "Norm")]),
        ("arms", "Arms", []),
        ("runs", "Runs", []),
        ("again", "Do it again", []),
    ]
    ids = {attributes.get("id") for _, attributes in Reader(render(shown)).tags}
    assert {name for name, *_ in shown.outline} | {"picture-norm"} <= ids


def curves(arm: str, t_grok: int | None, **columns: object) -> RunCurves:
    epoch = np.array([0, 1, 5, 10, 30])
    table = pd.DataFrame({"epoch": epoch, "train_accuracy": 1.0, "test_accuracy": 0.5, **columns})
    return RunCurves(arm=arm, seed=0, metrics=table, t_grok=t_grok)


def test_standard_pictures_draw_what_was_recorded():
    drawn = standard_pictures([curves("plain", None, mlp_norm=3.0), curves("fast", 10, mlp_norm=2.0)])
    assert [p.name for p in drawn] == ["accuracy", "times", "mlp-norm"]
    for p in drawn:
        assert p.alt.endswith("plain: not grokked by epoch 30; fast: grokked at epoch 10.")
        assert str(p.element).startswith('<svg role="img" aria-label="')
        assert p.caption and p.words
        assert p.width <= 7
        assert (p.chart is None) == (p.name == "times") == bool(p.data) == bool(p.svg)


def test_files_are_drawn_also_where_a_page_shows_a_chart():
    drawn = standard_pictures([curves("plain", None)], png=True)
    for p in drawn:
        assert p.svg.startswith("<?xml") and p.png.startswith(b"\x89PNG")
    assert drawn[0].chart is not None
