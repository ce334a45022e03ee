"""A report in the browser: values under the pointer, zoom, sorting, downloads, keyboard, phone, dark, and without scripts."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys

import pytest
from many import make_runs

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        patch.setattr(platform, "platform", lambda: "Linux-" + "x" * 100)  # a name without a break, wider than a phone
        make_runs(folder / "runs", arms=3, seeds=4, rows=40)
    page = folder / "report.html"
    # in a process of its own: other tests may have loaded further figures and measures
    command = [sys.executable, "-m", "grokscope", "report", "--runs", str(folder / "runs"), "-o", str(page)]
    subprocess.run(command, check=True, capture_output=True)
    return page


def centre(page, plot):
    box = plot.locator(".u-over").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, box


def test_values_under_the_pointer_and_zoom(visit, report):
    page = visit(report)
    figure = page.locator("#picture-accuracy")
    readout, plot = figure.locator(".readout"), figure.locator(".plot").first
    expect(readout).to_contain_text("drag to zoom")
    plot.scroll_into_view_if_needed()
    x, y, box = centre(page, plot)
    page.mouse.move(x, y)
    expect(readout).to_have_text(re.compile(r"^epoch \d+.*train [\d.]+ %, test [\d.]+ %, D [\d.]+"))
    again = figure.get_by_role("button", name="Show all epochs")
    expect(again).to_be_hidden()
    page.mouse.move(box["x"] + box["width"] * 0.6, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, y, steps=4)
    page.mouse.up()
    expect(again).to_be_visible()
    page.mouse.move(box["x"] + 2, y)
    expect(readout).to_have_text(re.compile(r"^epoch 1\d\d"))  # the left end is no longer epoch 10
    again.click()
    expect(again).to_be_hidden()
    plot.scroll_into_view_if_needed()
    _, y, box = centre(page, plot)  # the page may have moved under the pointer
    page.mouse.move(box["x"] + 1, y)
    expect(readout).to_have_text(re.compile(r"^epoch 10[^\d]"))


def test_an_arm_is_hidden_and_shown(visit, report):
    page = visit(report)
    figure = page.locator("#picture-mlp-norm")
    press = figure.locator(".legend button").first
    arm = press.inner_text()
    plot = figure.locator(".plot").first
    plot.scroll_into_view_if_needed()
    press.click()
    expect(press).to_have_attribute("aria-pressed", "false")
    x, y, _ = centre(page, plot)
    page.mouse.move(x, y)
    expect(figure.locator(".readout")).to_contain_text("epoch")
    expect(figure.locator(".readout")).not_to_contain_text(f"{arm}:")
    press.click()
    page.mouse.move(x - 20, y)
    expect(figure.locator(".readout")).to_contain_text(f"{arm}:")


def test_keyboard_only(visit, report):
    page = visit(report)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    figure = page.locator("#picture-accuracy")
    figure.locator(".plot").first.focus()
    page.keyboard.press("Home")
    expect(figure.locator(".readout")).to_have_text(re.compile(r"^epoch 10[^\d]"))
    page.keyboard.press("ArrowRight")
    expect(figure.locator(".readout")).to_have_text(re.compile(r"^epoch 20[^\d]"))
    expect(figure.locator(".readout")).to_have_attribute("aria-live", "polite")
    page.keyboard.press("+")
    expect(figure.get_by_role("button", name="Show all epochs")).to_be_visible()
    page.keyboard.press("0")
    expect(figure.get_by_role("button", name="Show all epochs")).to_be_hidden()
    page.locator("table.runs thead button", has_text="seed").focus()
    page.keyboard.press("Enter")
    expect(page.locator("table.runs th", has_text="seed")).to_have_attribute("aria-sort", "ascending")


def test_the_table_of_runs_is_sorted_and_saved(visit, report, saved):
    page = visit(report)
    press = page.locator("table.runs thead button", has_text="grokked at")
    press.click()
    column = page.locator("table.runs tbody td:nth-child(7)")
    times = [int(text) for text in column.all_inner_texts()]
    assert times == sorted(times) and len(set(times)) > 1
    press.click()
    assert [int(text) for text in column.all_inner_texts()] == sorted(times, reverse=True)
    expect(page.locator("#status")).to_have_text("Sorted by grokked at, descending")
    name, text = saved(page, page.get_by_role("button", name="Download the table Runs as CSV"))
    assert name == "runs.csv"
    assert text.splitlines()[0].startswith("run,arm,seed") and len(text.splitlines()) == 13


def test_pictures_and_their_data_are_saved(visit, report, saved):
    page = visit(report)
    for figure, series in (
        ("accuracy", "panel,arm,curve,seed,epoch,value,lower quartile,upper quartile"),
        ("times", "panel,x label,y label,series,x"),
    ):
        tools = page.locator(f"#picture-{figure} .tools")
        name, svg = saved(page, tools.get_by_role("button", name="as SVG"))
        assert name == f"{figure}.svg" and svg.startswith("<svg") and 'xmlns="http://www.w3.org/2000/svg"' in svg
        name, csv = saved(page, tools.get_by_role("button", name="as CSV"))
        assert name == f"{figure}.csv" and csv.startswith(series) and len(csv.splitlines()) > 10
    assert "grokked" in csv


def test_contents_lead_to_sections_and_pictures(visit, report):
    page = visit(report)
    page.get_by_role("navigation", name="Contents").get_by_role("link", name="Norm of the MLP").click()
    expect(page.locator("#picture-mlp-norm")).to_be_in_viewport()
    assert page.url.endswith("#picture-mlp-norm")
    links = page.locator("nav a").evaluate_all("all => all.map(link => link.hash.slice(1))")
    assert all(page.evaluate("id => !!document.getElementById(id)", link) for link in links)


def test_the_contents_mark_where_the_reader_is_after_a_jump_too(visit, report):
    page = visit(report)
    here = page.locator("nav a[aria-current]")
    page.keyboard.press("End")
    expect(here).to_have_text(["Do it again"])
    page.get_by_role("navigation", name="Contents").get_by_role("link", name="Pictures").click()
    expect(here).to_have_text(["Pictures"])
    page.keyboard.press("Home")
    expect(page.get_by_role("navigation", name="Contents").get_by_role("link", name="Pictures")).not_to_have_attribute(
        "aria-current", "location"
    )


def test_a_still_picture_is_enlarged(visit, report):
    page = visit(report)
    page.get_by_role("button", name="Enlarge Grokking times").click()
    shown = page.locator("dialog svg").first
    before = shown.bounding_box()["width"]
    page.get_by_role("button", name="Larger").click()
    assert shown.bounding_box()["width"] > 1.3 * before
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)


@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(253, 253, 252)"), ("dark", "rgb(20, 22, 25)")])
def test_a_phone_in_light_and_dark(visit, report, scheme, paper):
    page = visit(report, viewport={"width": 390, "height": 844}, color_scheme=scheme, is_mobile=True, has_touch=True)
    expect(page.locator("#picture-accuracy canvas").first).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    colour = page.locator("#picture-times svg text").first.evaluate("text => getComputedStyle(text).fill")
    assert colour == ("rgb(230, 232, 235)" if scheme == "dark" else "rgb(0, 0, 0)")


def test_without_scripts_and_in_print_the_pictures_are_still(visit, report):
    page = visit(report, java_script_enabled=False)
    expect(page.locator("#picture-accuracy svg")).to_be_visible()
    expect(page.locator("#picture-accuracy .chart")).to_be_hidden()
    page = visit(report)
    expect(page.locator("#picture-accuracy svg")).to_be_hidden()
    page.emulate_media(media="print")
    expect(page.locator("#picture-accuracy svg")).to_be_visible()
    expect(page.locator("#picture-accuracy .chart")).to_be_hidden()
