"""The gallery in the browser: filter, sort, links to claims, pictures that are unpacked, downloads, phone, dark."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from tables import lognormal, results_of

from grokscope.config import RunConfig
from grokscope.experiments.base import Claim, Experiment
from grokscope.experiments.frozen import rule_hashes
from grokscope.experiments.gallery import gallery
from grokscope.experiments.ledger import Ledger
from grokscope.experiments.rules import NotTested, Sooner
from grokscope.store import save_file

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect
EVIL = "<img src=x onerror=window.hurt=1>"


def found(name, paper, rules):
    """An experiment and its results."""
    claims = [Claim(name=n, statement=f"It is {n} {EVIL}.", rule=rule, text="Rule.") for n, rule in rules.items()]
    experiment = Experiment(
        name=name,
        paper=paper,
        title=f"Toy {name}",
        question="Is it sooner?",
        base=RunConfig(),
        arms={"a": {}, "b": {}},
        seeds=20,
        claims=claims,
        pictures={"accuracy": "accuracy", "times": "times"},
    )
    made = results_of(a=lognormal(1000, seed=1), b=lognormal(2000, seed=2))
    runs = made.runs.assign(
        t_stable_95=None, steps=1, step_seconds=0.1, t_mem=10.0, t_grok=made.runs["t_first_99"].round()
    )
    runs = runs.assign(t_c=None, gradient_fall=None, gradient_rise=None, loss_bump=None)
    epochs = np.geomspace(1, 20_000, 30).round()
    curves = pd.concat(
        pd.DataFrame(
            {"run": run, "epoch": epochs, "train_accuracy": 1.0, "test_accuracy": 1 / (1 + np.exp(-(epochs - t) / 200))}
        )
        for run, t in zip(runs["run"], runs["t_grok"], strict=True)
    )
    about = {"experiment": name, "scale": "full", "device": "cpu", "rules": rule_hashes(experiment)}
    return experiment, made._replace(about=about, runs=runs, curves=curves)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    both = [
        found("si-toy", "structural-inference", {"sooner": Sooner("a", "b"), "data": NotTested("no data")}),
        found("gt-toy", "grokking-tickets", {"later": Sooner("b", "a")}),
    ]
    ledger = Ledger("full", both, [], {})
    return save_file(tmp_path_factory.mktemp("gallery") / "gallery.html", gallery(ledger, ledger.rows(), "grokscope"))


def cards(page):
    return [card.get_attribute("id") for card in page.locator("article.claim:visible").all()]


def test_filters_by_paper_verdict_and_text(visit, page_file):
    page = visit(page_file)
    hits = page.locator(".hits")
    expect(hits).to_have_text("3 claims")
    expect(hits).to_have_attribute("aria-live", "polite")
    page.get_by_role("combobox", name="Paper").select_option("structural-inference")
    expect(hits).to_have_text("2 of 3 claims")
    assert cards(page) == ["si-toy/sooner", "si-toy/data"]
    expect(page.locator("section#gt-toy")).to_be_hidden()
    expect(page.locator("tr[data-claim]:visible")).to_have_count(2)
    page.get_by_role("combobox", name="Verdict").select_option("agrees")
    assert cards(page) == ["si-toy/sooner"]
    page.get_by_role("button", name="Clear").click()
    expect(hits).to_have_text("3 claims")
    page.get_by_role("searchbox", name="Text").fill("toy LATER")
    expect(hits).to_have_text("1 of 3 claims")
    assert cards(page) == ["gt-toy/later"]
    page.get_by_role("button", name="Clear").click()
    page.locator(".counts tbody tr").nth(1).get_by_role("link").click()  # the claims that disagree, of the second paper
    assert cards(page) == ["gt-toy/later"]
    assert page.evaluate("window.hurt === undefined")


def test_a_link_to_a_claim_shows_it_whatever_the_filter(visit, page_file):
    page = visit(page_file, anchor="gt-toy/later")
    expect(page.locator('[id="gt-toy/later"]')).to_be_in_viewport()
    page.get_by_role("combobox", name="Paper").select_option("structural-inference")
    expect(page.locator('[id="gt-toy/later"]')).to_be_hidden()
    page.evaluate("location.hash = ''")
    page.evaluate("location.hash = 'gt-toy/later'")
    expect(page.locator('[id="gt-toy/later"]')).to_be_in_viewport()
    expect(page.locator(".hits")).to_have_text("3 claims")


def test_a_card_says_the_verdict_in_words_and_folds_the_details(visit, page_file):
    page = visit(page_file, anchor="gt-toy/later")
    card = page.locator('[id="gt-toy/later"]')
    expect(card).to_contain_text("✗ Our runs disagree")
    expect(card.get_by_role("heading")).to_contain_text("It is later")
    expect(card.locator("svg.effect .none")).to_have_count(1)
    expect(card.locator("svg.effect circle")).to_have_count(1)
    expect(card.get_by_text("Rule.")).to_be_hidden()
    card.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(card.get_by_text("Rule.")).to_be_visible()
    expect(card).to_contain_text("FDR q = ")
    empty = page.locator('[id="si-toy/data"]')
    expect(empty).to_contain_text("– Not tested")
    expect(empty).to_contain_text("no data")


def test_the_ledger_sorts_by_verdict_and_by_p(visit, page_file, saved):
    page = visit(page_file)
    names = page.locator(".ledger tbody th")
    press = page.locator(".ledger thead button")
    press.nth(1).click()
    assert names.all_inner_texts() == ["si-toy/sooner", "gt-toy/later", "si-toy/data"]
    press.nth(1).click()
    assert names.all_inner_texts() == ["si-toy/data", "gt-toy/later", "si-toy/sooner"]
    press.nth(3).click()
    assert names.all_inner_texts()[-1] == "si-toy/data"  # without a p
    page.get_by_role("combobox", name="Verdict").select_option("agrees")
    _, text = saved(page, page.get_by_role("button", name="Download the table All claims as CSV"))
    assert len(text.splitlines()) == 2 and text.splitlines()[1].startswith("si-toy/sooner,")


def test_pictures_are_folded_and_open_by_keyboard(visit, page_file):
    page = visit(page_file)
    figure = page.locator("#picture-gt-toy-accuracy")
    expect(figure).to_be_hidden()
    folded = page.evaluate("document.documentElement.scrollHeight")
    summary = page.locator("section#gt-toy details.pictures > summary")
    expect(summary).to_contain_text("2 pictures of gt-toy: ")
    summary.focus()
    page.keyboard.press("Enter")
    expect(figure.locator("svg")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollHeight") > folded + 300


def test_an_enlarged_picture_is_seen_as_a_whole(visit, page_file):
    """Axis labels and legend included; larger by +, and whole again."""
    page = visit(page_file, anchor="picture-gt-toy-accuracy", viewport={"width": 1280, "height": 600})
    page.locator("#picture-gt-toy-accuracy").get_by_role("button", name="Enlarge").click()
    frame = page.locator("dialog .picture")

    def inside():
        sides = "one => { const { x, y, right, bottom } = one.getBoundingClientRect(); return [x, y, right, bottom]; }"
        outer, inner = frame.evaluate(sides), frame.locator(":scope > svg").evaluate(sides)
        return outer[0] <= inner[0] and outer[1] <= inner[1] and inner[2] <= outer[2] + 1 and inner[3] <= outer[3] + 1

    assert inside()
    page.get_by_role("button", name="Larger").click()
    assert not inside()
    page.get_by_role("button", name="Show the whole picture").click()
    assert inside()
    box = frame.locator(":scope > svg").bounding_box()
    for place in range(20):  # somewhere along the upper edge of the curves
        page.mouse.move(box["x"] + box["width"] * (0.1 + place / 25), box["y"] + box["height"] * 0.2)
        if page.locator("dialog .tip").is_visible():
            break
    expect(page.locator("dialog .tip")).to_contain_text(" at epoch ")


def test_curves_come_to_life_when_asked_for(visit, page_file):
    page = visit(page_file, anchor="picture-gt-toy-accuracy")
    figure = page.locator("#picture-gt-toy-accuracy")
    press = figure.get_by_role("button", name="Interactive")
    expect(figure.locator(".chart")).to_have_count(0)
    press.focus()
    page.keyboard.press("Enter")
    expect(press).to_have_attribute("aria-pressed", "true")
    expect(figure.locator(".picture")).to_be_hidden()
    plot = figure.locator(".plot").first
    plot.scroll_into_view_if_needed()
    box = plot.locator(".u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(figure.locator(".readout")).to_have_text(re.compile(r"^epoch \d+a: train [\d.]+ %, test [\d.]+ %b: train "))
    plot.focus()
    page.keyboard.press("+")
    expect(figure.get_by_role("button", name="Show all epochs")).to_be_visible()
    press.click()
    expect(figure.locator(".picture svg")).to_be_visible()
    expect(figure.locator(".chart")).to_be_hidden()
    assert page_file.read_text(encoding="utf-8").count("var uPlot=function") == 1  # inlined once


def test_pictures_appear_and_are_saved(visit, page_file, saved):
    page = visit(page_file, anchor="gt-toy")
    page.locator("section#gt-toy details.pictures > summary").click()
    figure = page.locator("#picture-gt-toy-accuracy")
    tools = figure.locator(".tools")
    name, csv = saved(page, tools.get_by_role("button", name="as CSV"))
    assert name == "gt-toy-accuracy.csv" and ",test," in csv
    name, svg = saved(page, tools.get_by_role("button", name="as SVG"))
    assert name == "gt-toy-accuracy.svg" and "accuracy (fraction)" in svg
    figure.scroll_into_view_if_needed()
    expect(figure.locator("svg")).to_be_visible()
    assert figure.locator("svg").evaluate("one => one.getBBox().width") > 200


def test_a_still_picture_tells_the_value_under_the_pointer(visit, page_file):
    page = visit(page_file, anchor="picture-gt-toy-accuracy")
    drawn = page.locator("#picture-gt-toy-accuracy svg")
    expect(drawn).to_be_in_viewport()
    box = drawn.bounding_box()
    numbers = page.evaluate(
        "pages.unpacked(document.getElementById('picture-gt-toy-accuracy').dataset.numbers).then(JSON.parse)"
    )
    one = next(series for series in numbers if series["series"] == "test")
    left, bottom, width, height = one["box"]
    low, high = one["limits"][:2]
    x = left + width * np.log(one["x"][0] / low) / np.log(high / low)
    y = bottom + height * (one["y"][0] - one["limits"][2]) / (one["limits"][3] - one["limits"][2])
    page.mouse.move(box["x"] + x * box["width"] + 2, box["y"] + (1 - y) * box["height"])
    expect(page.locator(".tip")).to_have_text(re.compile(r"^test: 0\.\d+ at epoch \d$"))
    page.mouse.move(5, 5)
    expect(page.locator(".tip")).to_be_hidden()


def test_search_by_keyboard(visit, page_file):
    page = visit(page_file)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Text")).to_be_focused()
    page.keyboard.type("si-toy/data")
    expect(page.locator(".hits")).to_have_text("1 of 3 claims")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone(visit, page_file, scheme):
    page = visit(page_file, viewport={"width": 390, "height": 844}, color_scheme=scheme, is_mobile=True, has_touch=True)
    expect(page.locator(".hits")).to_have_text("3 claims")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    card = page.locator('[id="si-toy/sooner"]')
    assert card.evaluate(
        "one => [...one.querySelectorAll('td, th')].every(c => c.getBoundingClientRect().right <= 390)"
    )
    expect(card.get_by_text("time ratio (95 % interval)")).to_be_visible()  # what the numbers are
    page.locator("details.contents summary").tap()
    page.get_by_role("link", name="Toy gt-toy").tap()
    expect(page.locator("section#gt-toy h3")).to_be_in_viewport()
    expect(page.locator("details.contents nav")).to_be_hidden()
