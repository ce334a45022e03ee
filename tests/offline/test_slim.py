"""SVG made small: the same picture, within the tolerance."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib.figure import Figure

from grokscope.figures.style import our_style, to_svg
from grokscope.pages import figure_svg, slim
from grokscope.pages.slim import TOLERANCE, short_path, simplified


@pytest.fixture(scope="module")
def figure():
    with our_style():
        figure = Figure(figsize=(4, 2))
        ax = figure.add_subplot()
        x = np.linspace(0, 10, 400)
        ax.plot(x, np.sin(x), label="wave")
        ax.fill_between(x, np.sin(x) - 0.1, np.sin(x) + 0.1, alpha=0.2)
        ax.scatter([1, 2, 3], [0.1, 0.2, 0.3])
        ax.imshow(np.eye(4), extent=(8, 9, -1, 0), aspect="auto")
        ax.set_title("A wave & more <")
    return figure


@pytest.fixture(scope="module")
def small(figure):
    return slim(figure_svg(figure), "p1")


def test_it_is_small_and_well_formed(figure, small):
    assert len(small) < len(to_svg(figure)) / 5
    root = ET.fromstring(small)
    assert root.tag == "svg" and root.get("viewBox") == "0 0 288 144"
    assert "xmlns" not in small and "xlink" not in small and "<metadata" not in small
    assert root.find(".//image") is not None


def test_text_stays_text(small):
    root = ET.fromstring(small)
    texts = ["".join(text.itertext()) for text in root.iter("text")]
    assert "A wave & more <" in texts
    assert "style=" not in small


def test_ids_are_its_own_and_all_references_hold(small):
    ids = re.findall(r'\bid="([^"]+)"', small)
    referred = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', small)
    assert len(ids) == len(set(ids)) and all(name.startswith("p1-") for name in ids)
    assert {a or b for a, b in referred} == set(ids)


def test_style_sheets_reach_the_colour_of_hollow_marks():
    """Rules for dark screens apply to a reference and not to the mark that it refers to."""
    with our_style():
        figure = Figure(figsize=(4, 2))
        figure.add_subplot().plot(range(5), range(5), "D", color="black", mfc="none")
    root = ET.fromstring(slim(figure_svg(figure), "p3"))
    marks = [path for defs in root.iter("defs") for path in defs.findall("path")]
    assert len(marks) == 1 and not {"stroke", "stroke-width", "fill"} & set(marks[0].attrib)
    (group,) = [g for g in root.iter("g") if len(g.findall("use")) == 5]
    assert group.get("stroke") == "#000000" and group.get("fill-opacity") == "0"


def test_outlined_letters_are_kept(figure):
    """In their size: the scale of an outline is 1/64, and that of a word its size in points by 100."""
    drawn = to_svg(figure)
    root = ET.fromstring(slim(drawn, "p2"))
    assert len(list(root.iter("use"))) > 10
    scales = [set(re.findall(r"scale\([^)]*\)", text)) for text in (drawn, ET.tostring(root, encoding="unicode"))]
    assert "scale(0.015625)" in scales[0] and scales[0] == scales[1]


def test_paths_are_relative_and_end_where_they_did():
    assert short_path("M 10 20 \nL 10.04 20 \nL 30.26 5 \nz\n") == "m10 20l20.3-15z"
    assert short_path("M 0 0 L 1 1 M 5 5 L 4.5 -6") == "m0 0l1 1m4 4l-.5-11"
    assert short_path("M 3 3 L 3 3") == "m3 3l0 0"  # a dot
    assert short_path("M 0 2.256789 C 0.6 2 1 2 1 1").startswith("M 0 2.26 C")


@pytest.mark.parametrize("seed", range(3))
def test_simplified_lines_stay_within_the_tolerance(seed):
    random = np.random.default_rng(seed)
    line = np.column_stack([np.arange(300.0), np.cumsum(random.normal(0, 0.2, 300))])
    kept = simplified(line)
    assert len(kept) < len(line) and (kept[[0, -1]] == line[[0, -1]]).all()
    assert np.abs(np.interp(line[:, 0], kept[:, 0], kept[:, 1]) - line[:, 1]).max() < 1.5 * TOLERANCE
    assert len(simplified(line[:3])) == 3
    assert len(simplified(np.zeros((9, 2)))) == 2
