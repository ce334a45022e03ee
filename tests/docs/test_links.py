"""Every relative link, anchor and picture leads somewhere, and the picture is fit for a page."""

import re
import xml.etree.ElementTree as ET

import pytest
from pages import DOCS, HAND_WRITTEN, ROOT, name_of

from tools.site.pages import GENERATED

LINK = re.compile(r"\]\(([^)\s]+)\)")


def without_code(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`|\$[^$\n]*\$", "", text)  # neither code nor formulas


def anchors(page):
    """The anchors of the headings of a page: lower case, without punctuation, a hyphen for each space."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"[`*\\]", "", title).lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=name_of)
def test_links_and_anchors_exist(page):
    for target in LINK.findall(without_code(page)):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if file.is_relative_to(DOCS) and str(file.relative_to(DOCS)) in GENERATED:
            continue  # made when the site is built; `mkdocs build --strict` checks it
        assert file.exists(), target
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), target


def test_files_named_in_words_exist():
    """Paths such as `docs/examples/small.toml` and `grokscope/optim/lion.py` in running text or commands."""
    found = set()
    for page in HAND_WRITTEN:
        found |= set(re.findall(r"\b(?:docs|src|grokscope)/[\w/-]+\.(?:py|toml|md|svg|csv)\b", page.read_text("utf-8")))
    missing = {path for path in found if not (ROOT / path).exists() and not (ROOT / "src" / path).exists()}
    assert found and not missing


@pytest.mark.parametrize(
    "picture", [DOCS / "demo.svg", *sorted((DOCS / "concepts").glob("*.svg"))], ids=lambda path: path.stem
)
def test_the_pictures_are_small_and_white(picture):
    assert picture.stat().st_size < 250_000
    background = next(ET.parse(picture).iter("{http://www.w3.org/2000/svg}path"))
    assert "#ffffff" in background.get("style")
