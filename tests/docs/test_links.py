"""Every relative link and picture leads somewhere, and the picture is fit for a page."""

import re
import xml.etree.ElementTree as ET

import pytest
from pages import DOCS, HAND_WRITTEN

LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=lambda page: page.name)
def test_links_exist(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in LINK.findall(re.sub(r"`[^`\n]*`|\$[^$\n]*\$", "", text)):  # neither code nor formulas
        if not target.startswith(("https://", "#")):
            assert (page.parent / target.split("#")[0]).exists(), target


def test_files_named_in_words_exist():
    """Paths such as `docs/examples/small.toml` and `grokscope/optim/lion.py` in running text or commands."""
    found = set()
    for page in HAND_WRITTEN:
        found |= set(re.findall(r"\b(?:docs|src|grokscope)/[\w/-]+\.(?:py|toml|md|svg)\b", page.read_text("utf-8")))
    root = DOCS.parent
    missing = {path for path in found if not (root / path).exists() and not (root / "src" / path).exists()}
    assert found and not missing


def test_the_picture_is_small_and_white():
    picture = DOCS / "demo.svg"
    assert picture.stat().st_size < 200_000
    background = next(ET.parse(picture).iter("{http://www.w3.org/2000/svg}path"))
    assert "#ffffff" in background.get("style")
