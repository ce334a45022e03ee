"""The page in a real browser: it fills while runs train, survives what goes wrong, and is usable on a phone and by keyboard.

Names outside this machine are not resolved, and a page that asks for one, or has an error in its script, fails its test.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from threading import Thread
from urllib.parse import urlsplit

import pytest
from made_up import finished, open_run, row, rows, save

from grokscope.live.address import listen
from grokscope.store import delete_runs

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("starlette", reason="needs grokscope[live]")
pytest.importorskip("uvicorn", reason="needs grokscope[live]")
from grokscope.live.server import Live, server_of  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("Chromium is not installed: make chromium", allow_module_level=True)
expect = sync_api.expect
expect.set_options(timeout=60_000)
EVIL = "<img src=x onerror=window.hurt=1>"
GRID = """
seeds = 2
epochs = 1000000
task = { p = 7, alphabet = 3 }
model = { d = 8, d_mlp = 16 }
stop = { accuracy = 0.0 }
[grid]
"prior.beta" = [0.0, 0.3]
"""


@pytest.fixture(scope="module")
def browser():
    blocked = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", blocked])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser):
    """Opens a page at an address; whatever it asks of another host, and every error, fails the test."""
    contexts, wrong = [], []

    def opened(url, **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
        context.set_default_timeout(60_000)
        contexts.append(context)
        context.on(
            "request",
            lambda request: urlsplit(request.url).hostname in ("127.0.0.1", None) or wrong.append(request.url),
        )
        context.on("weberror", lambda error: wrong.append(str(error.error)))
        page = context.new_page()
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def command():
    """Serves a folder with the command; called again, it serves it anew."""
    running = []

    def stop():
        server = running.pop()
        server.terminate()
        server.communicate()

    def started(runs):
        if running:
            stop()
        words = [sys.executable, "-m", "grokscope", "live", "--runs", str(runs)]
        running.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
        return running[0].stdout.readline().strip()

    yield started
    stop()


@pytest.fixture
def serve():
    """Serves a folder from a thread of this process, which is quicker to start."""
    running = []

    def started(runs):
        bound, address = listen(runs, "127.0.0.1", None)
        server = server_of(Live(runs, address))
        thread = Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        running.append((server, thread))
        return address.url

    yield started
    for server, thread in running:
        server.should_exit = True
        thread.join()


@pytest.fixture
def some(tmp_path):
    """Two conditions with two seeds; one run is in training, another has stopped."""
    runs = tmp_path / "runs"
    for seed in (0, 1):
        finished(runs, f"told{seed}", seed=seed, beta=0.3, grokked=150)
    with open_run(runs, "stopped", seed=1) as run:
        save(run, rows(300))
    with open_run(runs, "training", seed=0) as run:
        save(run, rows(300))
        yield runs, run


def line(page, run):
    return page.locator(f'#rows tr[data-run="{run}"]')


def test_it_fills_while_a_sweep_trains_and_survives_what_happens(command, visit, tmp_path):
    runs = tmp_path / "runs"
    page = visit(command(runs))
    expect(page.locator("#notice")).to_contain_text("no such folder")
    (tmp_path / "grid.toml").write_text(GRID)
    words = [sys.executable, "-m", "grokscope", "sweep", str(tmp_path / "grid.toml"), "--runs", str(runs), "--quiet"]
    trainer = subprocess.Popen([*words, "--device", "cpu"], stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        expect(page.locator("#rows .status.running")).not_to_have_count(0)
        expect(page.locator("#panel-accuracy.filled canvas")).to_be_visible()
        expect(page.locator("#tile-speed")).to_have_text(re.compile(r"\d"))
        first = page.locator("#rows tr").first
        before = first.locator("td").nth(4).inner_text()
        expect(first.locator("td").nth(4)).not_to_have_text(before)
    finally:
        os.killpg(trainer.pid, signal.SIGKILL)
        trainer.wait()
    expect(page.locator("#rows .status.running")).to_have_count(0)
    expect(page.locator("#rows .status.stopped")).not_to_have_count(0)
    expect(page.locator("#tile-left")).to_have_text("–")
    count = page.locator("#rows tr").count()

    url = page.url
    assert command(runs) == url
    expect(page.locator("#link")).to_have_attribute("data-state", "open")
    expect(page.locator("#rows tr")).to_have_count(count)
    with open_run(runs, "later", seed=7) as run:  # the page follows the new server
        run.append(rows(50))
        expect(line(page, "later")).to_contain_text("running")
    delete_runs([runs / "later"])
    expect(line(page, "later")).to_have_count(0)


def test_it_says_that_the_server_is_gone(serve, visit, some):
    page = visit(serve(some[0]))
    expect(line(page, "training")).to_contain_text("running")
    page.route("**/events*", lambda route: route.abort())
    page.locator("#filter-status").select_option("running")
    expect(page.locator("#link")).to_have_attribute("data-state", "lost")
    expect(line(page, "training")).to_be_visible()  # what was there stays
    page.unroute("**/events*")
    expect(page.locator("#link")).to_have_attribute("data-state", "open")
    expect(page.locator("#rows tr")).to_have_count(1)


def test_rows_phases_and_attention_of_a_selected_run_as_they_come(serve, visit, some):
    runs, run = some
    page = visit(serve(runs))
    expect(line(page, "training").locator(".phase")).to_have_text("plateau")
    page.locator('#rows button[title="training"]').click()
    expect(page.locator("#selected-phases li").nth(3)).to_contain_text("not by epoch 300")
    expect(page.locator("#attention-map canvas")).to_have_count(5)
    expect(page.locator("#attention-map")).to_contain_text("distractor 1")
    run.append(rows(700, first=325))
    expect(line(page, "training").locator(".phase")).to_have_text("grokking")
    expect(page.locator("#selected-phases li").nth(3)).to_contain_text("at epoch 500")
    expect(page.locator("#groups")).to_contain_text("1 of 2 grokked, median epoch 500")
    expect(page.locator("#attention-map canvas").first).to_have_attribute("aria-label", "a: 45 % at epoch 700")


def test_a_deleted_run_that_is_selected(serve, visit, some):
    runs, _ = some
    page = visit(serve(runs))
    page.locator('#rows button[title="told0"]').click()
    expect(page.locator("#selected-title")).to_have_text("told0")
    delete_runs([runs / "told0"])
    expect(page.locator("#selected-about")).to_have_text("this run was deleted")
    expect(line(page, "told0")).to_have_count(0)
    expect(page.locator("#panel-accuracy.filled")).to_be_visible()


def test_a_damaged_run_says_what_is_wrong(serve, visit, some):
    runs, _ = some
    finished(runs, "broken", seed=9)
    (runs / "broken" / "state.json").write_text("{")
    page = visit(serve(runs))
    page.locator('#rows button[title="broken"]').click()
    expect(page.locator("#selected-about")).to_contain_text("damaged")
    expect(page.locator("#selected-about")).to_contain_text("state.json")
    expect(page.locator("#selected-about")).not_to_contain_text("seed")


def test_many_settings_to_filter_by(serve, visit, tmp_path):
    for number in (0, 1):
        with open_run(
            tmp_path, f"r{number}", kind="watched", settings={f"s{place}": number for place in range(8)}
        ) as run:
            save(run, rows(50), "done")
    page = visit(serve(tmp_path))
    expect(page.locator("#filters summary")).to_have_text("2 more settings")
    page.locator("#filters summary").click()
    page.locator('select[data-setting="settings.s7"]').select_option("1")
    expect(page.locator("#rows tr")).to_have_count(1)
    expect(line(page, "r1")).to_be_visible()


def test_names_with_html_are_text(serve, visit, tmp_path):
    runs = tmp_path / f"runs {EVIL}"
    for number, name in enumerate((EVIL, f"{EVIL}2")):
        with open_run(runs, name, task={"kind": EVIL, "p": f"</script>{EVIL}{number}"}) as run:
            save(run, rows(100), "done")
            run.fail(f"because {EVIL}")
    page = visit(serve(runs))
    expect(page.locator("#rows tr")).to_have_count(2)
    page.locator("#rows button").first.click()
    expect(page.locator("#selected-title")).to_have_text(EVIL)
    expect(page.locator("#groups")).to_contain_text(f"</script>{EVIL}"[:20])
    expect(page.locator("#filters")).to_contain_text(EVIL)
    expect(page.locator(".folder")).to_contain_text(EVIL)
    assert page.evaluate("window.hurt === undefined && document.images.length === 0")


def test_filters_colours_and_the_frozen_report(serve, visit, some):
    page = visit(serve(some[0]))
    expect(page.locator("#rows tr")).to_have_count(4)
    expect(page.locator("#groups li")).to_have_count(2)
    page.locator('select[data-setting="prior.beta"]').select_option("0.3")
    expect(page.locator("#rows tr")).to_have_count(2)
    expect(page.locator("#tile-finished-more")).to_have_text("of 2 in view, 4 in all")
    with page.context.expect_page() as opened:
        page.locator("#freeze").click()
    report = opened.value
    expect(report.locator("h1")).to_have_text("Grokking runs, as seen live")
    expect(report.locator("body")).to_contain_text("--where prior.beta=0.3")
    expect(report.locator("body")).not_to_contain_text("stopped at")
    page.locator("#filter-reset").click()
    expect(page.locator("#rows tr")).to_have_count(4)
    page.locator("#filter-text").fill("nothing like this")
    expect(page.locator("#notice")).to_have_text("no run has these settings")


def test_more_than_twenty_runs_are_drawn_as_median_and_band(serve, visit, tmp_path):
    for seed in range(22):
        finished(tmp_path, f"r{seed:02}", seed=seed, grokked=300 + 10 * seed)
    page = visit(serve(tmp_path))
    expect(page.locator("#groups li")).to_have_count(2)
    expect(page.locator("#groups")).to_contain_text("lines are medians")
    expect(page.locator("#tile-grokked")).to_have_text("22")
    point_at_the_end(page, "accuracy", "epoch 700 · all runs, median, test: 100 %")


def point_at_the_end(page, panel, text):
    """Move the pointer to the last epoch of a panel until its readout is `text`: a chart that is still being laid out has its last
    epoch elsewhere."""
    deadline = time.monotonic() + 60
    while True:
        box = page.locator(f"#panel-{panel} .u-over").bounding_box()
        for back in (3, 1):  # a pointer that does not move is not noticed
            page.mouse.move(box["x"] + box["width"] - back, box["y"] + 10)
        found = page.locator(f"#panel-{panel} .readout").text_content()
        if found == text:
            return
        assert time.monotonic() < deadline, found


def test_keyboard(serve, visit, some):
    runs, run = some
    page = visit(serve(runs))
    expect(page.locator("#rows tr")).to_have_count(4)
    page.keyboard.press("/")
    expect(page.locator("#filter-text")).to_be_focused()
    page.keyboard.type("told")
    expect(page.locator("#rows tr")).to_have_count(2)
    page.locator("#runs").focus()
    page.keyboard.press("Tab")
    if page.evaluate("document.activeElement.className === 'scroll'"):  # a scrolling area may be a stop of its own
        page.keyboard.press("Tab")
    expect(page.locator('#rows button[title="told0"]')).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator('#rows button[title="told1"]')).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#selected-title")).to_have_text("told1")
    expect(line(page, "told1")).to_have_attribute("aria-selected", "true")
    expect(page.locator('#rows button[title="told1"]')).to_be_focused()
    run.append([row(325)])
    page.keyboard.press("Home")
    expect(page.locator('#rows button[title="told0"]')).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#selected")).to_be_hidden()


@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(251, 251, 250)"), ("dark", "rgb(21, 23, 26)")])
def test_a_phone_in_light_and_dark(serve, visit, some, scheme, paper):
    runs, _ = some
    finished(runs, "a-name-" + "that-is-very-long-" * 6, seed=5, beta=0.30000000000000004)
    page = visit(
        serve(runs), viewport={"width": 390, "height": 844}, color_scheme=scheme, is_mobile=True, has_touch=True
    )
    expect(page.locator("#rows tr")).to_have_count(5)
    page.locator("#rows button").last.tap()
    expect(page.locator("#attention-map canvas")).to_have_count(5)
    expect(page.locator("#panel-norms.filled")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate(
        "[...document.querySelectorAll('.chart canvas')].every(c => c.getBoundingClientRect().right <= 390)"
    )
