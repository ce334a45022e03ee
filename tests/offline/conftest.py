"""Pages opened from disk in a real browser with the network off; a request to any host, or an error in a script, fails the test."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

for folder in ("store", "experiments"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    sync_api.expect.set_options(timeout=60_000)
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser):
    """Opens a file; `anchor` is the part of its address after #."""
    contexts, wrong = [], []

    def opened(path, anchor="", **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "offline": True} | options)
        context.set_default_timeout(60_000)
        contexts.append(context)
        context.on("request", lambda r: r.url.startswith(("file:", "data:", "blob:")) or wrong.append(r.url))
        context.on("weberror", lambda error: wrong.append(str(error.error)))
        context.on("console", lambda message: message.type != "error" or wrong.append(message.text))
        page = context.new_page()
        page.goto(Path(path).as_uri() + (f"#{anchor}" if anchor else ""))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def saved(page, press):
    """The name and the text of the file that a button saves."""
    with page.expect_download() as download:
        press.click()
    return download.value.suggested_filename, Path(download.value.path()).read_text(encoding="utf-8")


@pytest.fixture(name="saved")
def saved_fixture():
    return saved
