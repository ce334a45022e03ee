"""Tables, page and picture of a stored measurement."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg

from grokscope.bench import startup
from grokscope.bench.entries import REFERENCES, network_of
from grokscope.bench.figures import cost_growth
from grokscope.bench.report import GPU_TARGETS, as_markdown, as_text, rounded, short, si, tables
from grokscope.cli import front
from grokscope.config import RunConfig
from grokscope.errors import ConfigError
from grokscope.loading import load_file
from grokscope.optim import optimizers
from tools import speed_page as page


def row(lanes, rate, precision="tf32", **more):
    own = {"precision": precision, "lanes": lanes, "run_steps_per_s": rate, "ratio": rate / 100, "limit": 4 * rate}
    step = {"diagnostics": 0.1, "step_s": 0.9 / rate, "products_s": 0.3 / rate, "step_over_products": 3.0}
    return {**own, **step, "of_limit": 0.25, **more}


def point(axis, value, rate=10.0, limit=20.0, note="", lanes=64):
    numbers = {"run_steps_per_s": None, "limit": None} if note else {"run_steps_per_s": rate, "limit": limit}
    return {"axis": axis, "value": value, "lanes": lanes, "precision": "tf32", **numbers, "note": note}


POINTS = [
    *(point("lanes", lanes, 10.0 * lanes, lanes=lanes) for lanes in (1, 2, 4)),
    point("lanes", 8, note="out of memory", lanes=8),
    *(point(axis, value) for axis in ("p", "d", "T", "layers") for value in (1, 2, 3)),
]
MEASURED = {
    "command": "grokscope bench --scaling",
    "device": "Some GPU",
    "network": "default",
    "threads": None,
    "version": "0",
    "torch": "2",
    "plain_run_steps_per_s": 100.0,
    "counts": {
        "examples": 10,
        "multiply_adds": 467_736_576,
        "lookups": 3_734_250,
        "elementwise": 5_000_000,
        "bytes": 2_385_992,
        "bytes_by_kind": {},
        "activations": 8_000_000,
    },
    "ceilings": {"copy_bytes_per_s": 4e12, "square_operations_per_s": {"tf32": 3.5e14}},
    "fleet": [row(1, 2000.0), row(5, 9000.0), row(256, 60_000.0), {**row(512, 1.0), "run_steps_per_s": None}],
    "startup": {"help_s": 0.2, "import_s": 0.01, "torch_s": 2.0},
    "scaling": POINTS,
}


def test_tables_say_what_was_measured():
    fleet, ceilings, targets, growth = tables(MEASURED)
    assert list(fleet.rows[0])[:4] == ["plain loop", "1", "100", "1"]
    assert list(fleet.rows[2]) == ["tf32", "5", "9,000", "90", "1.11", "10.0%", "3", "36,000", "25%"]
    assert fleet.rows[-1][2] == "out of memory"
    assert ("matrix products of a run-step", "468 M multiply-adds") in ceilings.rows
    assert ("… not counted", "3.73 M numbers looked up, 5 M computed elementwise") in ceilings.rows
    assert ("… kept for the backward pass", "8 MB") in ceilings.rows
    assert ("products of a run-step, tf32", "187 T operations/s at 256 lanes") in ceilings.rows
    assert targets.rows == [
        ("TF32: ≥ 60,000 run-steps/s", "60,000", "yes"),
        ("five lanes: ≥ 15,000 run-steps/s", "9,000", "no"),
        ("one lane: ≥ 4,500 run-steps/s", "2,000", "no"),
        ("`grokscope --help`: < 0.3 s", "0.20 s", "yes"),
        ("`import grokscope`: < 0.5 s, torch apart", "0.010 s", "yes"),
    ]
    assert growth.rows[1] == ("lanes", "2", "2", "20", "20", "100%")
    assert growth.rows[3] == ("lanes", "8", "8", "out of memory", "", "")


def test_sweeps_say_whether_they_reach_their_share():
    one = {"precision": "tf32", "lanes": 5, "epochs": 250, "run_steps_per_s": 6000.0}
    shown = tables(MEASURED | {"sweep": [one | {"of_bench": share} for share in (0.71, 0.69)]})
    (table,) = [table for table in shown if table.title == "Whole sweeps"]
    assert [cells[-2:] for cells in table.rows] == [("71%", "yes"), ("69%", "no")]


def test_only_networks_with_targets_have_them():
    standard = tables(MEASURED | {"network": "standard"})[2].rows
    assert standard[:2] == [
        ("TF32: ≥ 20,000 run-steps/s", "60,000", "yes"),
        ("five lanes: ≥ 4,000 run-steps/s", "9,000", "yes"),
    ]
    other = {key: value for key, value in MEASURED.items() if key != "startup"} | {"network": ""}
    assert [table.title for table in tables(other)] == ["Run-steps per second", "Limits of the device", "Scaling"]


def test_a_goal_of_large_fleets_is_not_asked_of_small_ones():
    small = MEASURED | {"fleet": [one for one in MEASURED["fleet"] if one["lanes"] <= 5]}
    assert [cells[0] for cells in tables(small)[2].rows][:2] == [
        "five lanes: ≥ 15,000 run-steps/s",
        "one lane: ≥ 4,500 run-steps/s",
    ]


@pytest.mark.parametrize("name", ["default", *REFERENCES])
def test_networks_with_targets_are_recognised(name: str):
    config = replace(RunConfig(), **REFERENCES.get(name, {}))
    assert network_of(config) == name and GPU_TARGETS[name]
    assert network_of(replace(config, precision="tf32")) == name


def test_a_network_is_recognised_with_any_norm_and_not_with_other_sizes():
    standard = replace(RunConfig(), **REFERENCES["standard"])
    assert network_of(replace(standard, model=replace(standard.model, norm="both"))) == "standard"
    assert network_of(replace(standard, model=replace(standard.model, d=64))) == ""


def test_targets_of_a_cpu():
    cpu = {
        **MEASURED,
        "threads": 2,
        "demo_s": 31.0,
        "fleet": [row(1, 40.0, ratio=6.5, step_over_products=1.9), row(5, 50.0)],
    }
    assert tables(cpu)[2].rows[:3] == [
        ("one run: ≥ 6 × the plain loop", "6.5", "yes"),
        ("… step ≤ 2 × its matrix products", "1.9", "yes"),
        ("five lanes: ≤ 4.5 × one lane", "4", "yes"),
    ]
    assert tables(cpu)[2].rows[-1] == ("the demo trains in ≤ 30 s", "31.0 s", "no")
    watched = tables(cpu | {"watch": {"step_s": 0.1, "watch": 0.02, "prior": 0.123}})[2].rows
    assert watched[-3:-1] == [
        ("grokscope.watch adds ≤ 10 % to a step", "2.0%", "yes"),
        ("… with the prior", "12.3%", "no"),
    ]


def test_every_entry_is_a_row():
    numbers = {"plain_run_steps_per_s": 100.0, "run_steps_per_s": 5000.0, "ratio": 50.0, "limit": 1e4, "of_limit": 0.5}
    done = {"entry": "optim=lion", "plain_loop": "nn.Module", "trained": "vmap", "lanes": 64, "note": "", **numbers}
    failed = {**done, **dict.fromkeys(numbers), "entry": "task=x", "note": "out of memory"}
    (table,) = tables({"precision": "tf32", "all": [done, failed]})
    assert table.rows[0] == ("optim=lion", "nn.Module", "100", "64", "vmap", "5,000", "50", "10,000", "50%")
    assert table.rows[1][:2] == ("task=x", "out of memory") and len(table.rows[1]) == len(table.header)


def test_numbers_and_renderings():
    assert [short(v) for v in (0.01234, 5.678, 99.96, 1234.5)] == ["0.0123", "5.68", "100", "1,234"]
    assert [si(v) for v in (12.0, 41_303_752, 3.5e14)] == ["12 ", "41.3 M", "350 T"]
    assert rounded({"a": [1.2345678, 3, None, "x"]}) == {"a": [1.2346, 3, None, "x"]}
    table = tables(MEASURED)[2]
    assert as_markdown(table).splitlines()[2:5] == [
        "|  | measured | met |",
        "|---|---|---|",
        "| TF32: ≥ 60,000 run-steps/s | 60,000 | yes |",
    ]
    lines = as_text(table).splitlines()
    assert lines[2].split() == ["measured", "met"]
    assert {len(line) for line in lines[2:8]} == {len(lines[2])}


def test_the_page_keeps_what_is_written_by_hand(tmp_path):
    (tmp_path / "one.json").write_text(json.dumps(MEASURED))
    text = "# Top\n\n<!-- measured: one -->\nold\n<!-- end -->\nby hand\n<!-- measured: two -->\n<!-- end -->\n"
    once = page.filled(text, tmp_path)
    assert once == page.filled(once, tmp_path)
    assert "old" not in once and "\nby hand\n" in once and "Not measured yet." in once
    assert "`grokscope bench --scaling`\n\nSome GPU, torch 2." in once
    assert "| tf32 | 5 | 9,000 |" in once and "](speed-one.svg)" in once


def test_the_page_holds_what_is_stored():
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.filled(text) == text
    assert page.PART.findall(text)
    drawn = [p.stem for p in page.STORED.glob("*.json") if json.loads(p.read_text()).get("scaling")]
    assert drawn and all(page.PAGE.with_name(f"speed-{name}.svg").exists() for name in drawn)


def test_the_picture_has_a_panel_an_axis():
    figure = cost_growth(POINTS, title="Some GPU")
    FigureCanvasAgg(figure).draw()
    assert [ax.get_xlabel() for ax in figure.axes] == [
        "lanes",
        "modulus p, 64 lanes",
        "width d (MLP 4d), 64 lanes",
        "tokens in a sequence T, 64 lanes",
        "layers (causal), 64 lanes",
    ]
    first = {line.get_gid(): line for line in figure.axes[0].lines}
    assert first["measured"].get_xydata().tolist() == [[1, 10], [2, 20], [4, 40]]
    assert first["limit"].get_ydata().tolist() == [20, 20, 20]
    assert first["gap"].get_xdata().tolist() == [8]
    assert "not timed: out of memory or too long" in [t.get_text() for t in figure.legends[0].get_texts()]
    assert all(ax.get_yscale() == ax.get_xscale() == "log" for ax in figure.axes)


def test_start_up_is_timed_in_fresh_processes(monkeypatch):
    """Bytecode is kept for these processes even where the environment forbids it, and torch is timed by itself."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    asked = []

    def text(command, env):
        asked.append((command[-1], "PYTHONDONTWRITEBYTECODE" in env))
        return "2.5" if "torch" in command[-1] else "0.25"

    monkeypatch.setattr(startup, "_text", text)
    found = startup.startup(repeats=3)
    assert (found["import_s"], found["torch_s"]) == (0.25, 2.5)
    assert [kept for word, kept in asked if "torch" not in word] == [False] * 8


def test_the_first_step_is_timed_with_empty_and_with_full_caches(tiny, monkeypatch):
    """The first of the processes finds an empty folder of compiled kernels, the others what it has left there."""
    found = []
    texts = iter(("9.0", "2.0", "5.0", "3.0"))

    def text(command, env):
        assert startup.json.loads(command[3])["task"]["p"] == tiny.task.p and command[4] == "cpu"
        folder = Path(env["TRITON_CACHE_DIR"])
        found.append(len(list(folder.iterdir())))
        (folder / f"kernel{len(found)}").touch()
        return f"a line of training\n{next(texts)}\n"

    monkeypatch.setattr(startup, "_text", text)
    assert startup.first_step(tiny, torch.device("cpu")) == {"first_step_cold_s": 9.0, "first_step_s": 3.0}
    assert found == [0, 1, 2, 3]
    started = {**MEASURED["startup"], "first_step_cold_s": 20.0, "first_step_s": 3.0}
    rows = {what: cells for what, *cells in tables(MEASURED | {"startup": started})[2].rows}
    assert rows["import to first step: ≤ 6 s"] == ["3.0 s", "yes"]
    assert rows["… with all kernels to compile: ≤ 15 s"] == ["20.0 s", "no"]


OWN = """
from grokscope.optim.base import optimizers
from grokscope.optim.sgd import SGD


@optimizers.register("of-the-user")
class Own(SGD):
    pass
"""


@pytest.mark.usefixtures("unload")
def test_the_first_step_is_taken_with_the_users_own_code(tiny, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    load_file(tmp_path / "own.py")
    own = replace(tiny, optim=optimizers.get("of-the-user")())
    found = startup.first_step(own, torch.device("cpu"), repeats=1)
    assert 0 < found["first_step_s"] and 0 < found["first_step_cold_s"]


def test_a_process_that_fails_is_one_line(tiny):
    with pytest.raises(ConfigError, match=r"--startup: a fresh process could not be timed \(.*nowhere"):
        startup.first_step(tiny, "nowhere")


def test_the_front_page_says_what_each_command_says_of_itself():
    import typer

    from grokscope.cli.app import app

    front.register()
    commands = typer.main.get_command(app).commands
    assert set(commands) == set(front.COMMANDS)
    for name, command in commands.items():
        first = " ".join(command.help.split("\n\n")[0].split())
        assert front.COMMANDS[name][1] == first, name
        assert command.callback.__module__ == f"grokscope.cli.{front.COMMANDS[name][0]}"


@pytest.mark.parametrize("width", [60, 200])
def test_the_front_page_fits_the_terminal(run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = run("--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= width
    told = " ".join(out.replace("│", " ").split())
    assert "Train one configuration with several seeds, side by side." in told and "--load FILE.py" in told
    assert "Start with grokscope demo." in told
