"""The built site: nothing is loaded from other hosts, every link and anchor leads somewhere, formulas and search work from disk."""

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from pages import HAND_WRITTEN, ROOT

pytest.importorskip("mkdocs", reason="needs the extra docs")
LOADED = {
    "img": "src",
    "script": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "link": "href",
    "use": "href",
}
"""What a browser loads by itself, by element."""
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page(HTMLParser):
    """Ids, links and loaded resources of a page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loaded, self.styles = set(), [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if found.get(LOADED.get(tag, "")):
            self.loaded.append(found[LOADED[tag]])
        self.loaded += [part.split()[0] for part in (found.get("srcset") or "").split(",") if part.strip()]
        self.styles.append(found.get("style") or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": paths, "GROKSCOPE_SITE_PICTURES": "0"}
    done = subprocess.run(build, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    """Every page that belongs to the site; the gallery is a page of its own with its own tests."""
    return {
        path: Page(path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
        if path.name not in ("gallery.html", "404.html")
    }


def is_foreign(url):
    return url.startswith(("http:", "https:", "//"))


def test_nothing_is_loaded_from_other_hosts(site, pages):
    foreign = [(path.name, url) for path, page in pages.items() for url in page.loaded if is_foreign(url)]
    assert not foreign
    sheets = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    styles = sheets + "".join(style for page in pages.values() for style in page.styles)
    assert not [url for url in re.findall(r"url\(['\"]?([^'\")]+)", styles) if is_foreign(url)]
    assert not re.search(r"@import\s+(?:url\()?['\"]?(?:https?:)?//", styles)
    # the theme's script loads mermaid from another host, if a page has a diagram in it
    assert not [path for path in pages if 'class="mermaid"' in path.read_text(encoding="utf-8")]


def test_every_link_and_anchor_leads_somewhere(site, pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].ids):
                broken.append((path.name, link))
    assert not broken


def test_every_page_is_there_with_a_title_and_can_be_found(site):
    written = [
        page.relative_to(ROOT / "docs").with_suffix(".html")
        for page in HAND_WRITTEN
        if page.is_relative_to(ROOT / "docs")
    ]
    generated = [f"papers/{paper}.html" for paper in ("structural-inference", "grokking-tickets", "inductive-bias")]
    generated += [f"reference/{name}.html" for name in ("cli", "components", "settings", "columns", "python")]
    missing = [str(page) for page in (*written, *generated, "contributing.html") if not (site / page).exists()]
    assert not missing
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {str(page) for page in written} <= found
    assert (site / "search" / "search_index.js").exists()  # the same for browsers without a server


def test_every_control_has_a_name(site):
    """The theme leaves the buttons unnamed that unfold a part of the navigation with a page of its own."""
    text = (site / "concepts" / "times.html").read_text(encoding="utf-8")
    labels = re.findall(r'<label class="md-nav__link ([^>]*)tabindex[^>]*>(.*?)</label>', text, re.DOTALL)
    assert labels
    assert [one for one, inside in labels if "aria-label" not in one and not re.sub(r"<[^>]+>|\s", "", inside)] == []
    assert re.search(r'<label [^>]*for="__nav_3"[^>]* aria-label="Concepts"', text)


@pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed: make chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_links_and_tabs_stand_out_from_what_is_behind_them(site, scheme):
    """By WCAG 2, 4.5 to 1 at the least."""
    sync = pytest.importorskip("playwright.sync_api", reason="needs playwright")

    def luminance(colour):
        linear = [c / 12.92 if c <= 0.04 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(offline=True, color_scheme=scheme).new_page()
        page.goto(f"file://{site}/index.html")
        look = "one => { const s = getComputedStyle(one); return [s.color, s.backgroundColor, s.opacity]; }"
        for text, behind in (("article p a", "body"), (".md-tabs__link >> nth=1", ".md-tabs")):
            colour, _, opacity = page.locator(text).first.evaluate(look)
            _, paper, _ = page.locator(behind).first.evaluate(look)
            front, back = ([float(part) for part in re.findall(r"[\d.]+", own)[:3]] for own in (colour, paper))
            mixed = [float(opacity) * a + (1 - float(opacity)) * b for a, b in zip(front, back, strict=True)]
            high, low = sorted(map(luminance, (mixed, back)), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5, (text, colour, paper, opacity)
        browser.close()


def test_formulas_are_typeset(site):
    text = (site / "equations.html").read_text(encoding="utf-8")
    assert text.count('<math display="block">') > 70
    assert "$$" not in text and "\\frac" not in re.sub(r"<annotation.*?</annotation>", "", text, flags=re.DOTALL)


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("reference/cli", ["grokscope train", "--seeds", "--install-completion"]),
        (
            "reference/settings",
            ["task.alphabet", "Number of symbols that distractors are drawn from", "stop.extend", "noise.labels"],
        ),
        ("reference/components", ["k-addition", "grokfast-ema", "edge-popup", "jaccard", "hard-concrete", "rotary"]),
        ("reference/columns", ["mass_worst", "tau_grok", "grad_M", "norm_{name}"]),
        ("reference/python", ["grokscope.watch", "grokscope.load_runs", "run_times", "Criterion"]),
    ],
)
def test_the_reference_comes_from_the_code(site, page, words):
    text = re.sub(r"<[^>]+>", "", (site / f"{page}.html").read_text(encoding="utf-8"))
    assert [word for word in words if word not in text] == []


@pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed: make chromium")
def test_search_works_from_disk_without_a_network(site):
    sync = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(offline=True)
        page = context.new_page()
        asked, errors = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"file://{site}/index.html")
        page.locator(".md-search__input").click()
        page.keyboard.type("Kaplan")
        page.locator(".md-search-result__link").first.wait_for(state="attached", timeout=20_000)
        links = page.locator(".md-search-result__link").evaluate_all("all => all.map(one => one.href)")
        assert any("concepts/censoring.html" in link for link in links)
        assert not errors
        assert asked and all(url.startswith(("file:", "data:", "about:")) for url in asked)
        browser.close()
