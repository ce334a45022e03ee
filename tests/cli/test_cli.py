"""The commands, as a user types them."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest

TINY = [
    *("--set", "task.p=7", "--set", "task.alphabet=3", "--set", "task.train_fraction=0.6"),
    *("--set", "model.d=8", "--set", "model.d_mlp=16", "--set", "epochs=10", "--set", "log.every=5"),
]


COMMANDS = [
    "branch",
    "forecast",
    "check",
    "measure",
    "demo",
    "train",
    "sweep",
    "search",
    "race",
    "runs",
    "show",
    "report",
    "live",
    "plot",
    "list",
    "bench",
    "reproduce",
    "claims",
    "equations",
    "audit",
    "probe",
    "rm",
    "tag",
    "status",
    "cancel",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert command in out
    assert len(out) > 300


def test_help_names_every_command_and_does_not_import_torch():
    code = "import sys; sys.argv = ['grokscope', '--help']\ntry:\n import grokscope.cli; grokscope.cli.main()\n"
    code += "except SystemExit: print('torch' in sys.modules, 'pandas' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip().endswith("False False")
    assert all(command in out for command in COMMANDS)


def test_the_first_page_says_what_the_help_of_each_command_says():
    import typer

    from grokscope.cli.app import app
    from grokscope.cli.front import COMMANDS as FRONT
    from grokscope.cli.front import register

    register()
    commands = typer.main.get_command(app).commands
    assert sorted(FRONT) == sorted(COMMANDS) == sorted(commands)
    for name, (_, sentence) in FRONT.items():
        assert " ".join(commands[name].help.split("\n\n")[0].split()) == sentence


def test_train_runs_show_report(run, tmp_path):
    code, out, _ = run("train", *TINY, "--seeds", "2", "--json")
    assert code == 0
    trained = json.loads(out)
    code, out, _ = run("runs", "--json")
    assert sorted(json.loads(out), key=lambda r: r["config"]["seed"]) == trained
    assert [set(r) for r in trained] == [
        {"id", "config", "status", "epoch", "t_mem", "t_grok", "criterion", "train_accuracy", "test_accuracy"}
    ] * 2
    assert [(r["config"]["seed"], r["status"], r["epoch"]) for r in trained] == [(0, "done", 10), (1, "done", 10)]
    code, out, _ = run("runs")
    assert all(r["id"] in out for r in trained)
    code, out, _ = run("show", trained[0]["id"][:8])
    assert code == 0
    assert "Grokking (test accuracy ≥ 99 %, held 100 epochs): never by epoch 10." in out
    assert re.search(r"^  task.p {22}7$", out, re.MULTILINE)
    assert re.search(r"^  model.attention.temperature 1.0$", out, re.MULTILINE)
    code, out, _ = run("show", trained[0]["id"], "--json")
    assert json.loads(out)["last"]["epoch"] == 10
    assert json.loads(out)["summary"]["criterion"] == trained[0]["criterion"]
    code, out, _ = run("report", trained[0]["id"], trained[1]["id"], "-o", tmp_path / "out" / "page.html")
    assert code == 0
    page = (tmp_path / "out" / "page.html").read_text()
    assert all(r["id"] in page for r in trained)
    assert f"grokscope report {trained[0]['id']}" in page


def test_runs_can_be_filtered(run):
    run("train", *TINY, "--seeds", "0,3", "-q")
    run("train", *TINY, "--seeds", "1", "-q", "--set", "prior.beta=0.5")

    def seeds(*words):
        return [r["config"]["seed"] for r in json.loads(run("runs", "--json", *words)[1])]

    assert sorted(seeds()) == [0, 0, 3]
    assert seeds("--where", "prior.beta=0.5") == [0]
    assert seeds("--where", "seed=3", "--where", "task=modular") == [3]
    assert seeds("--status", "grokked") == []
    code, _, err = run("runs", "--where", "prior.bta=1")
    assert (code, err) == (2, "prior.bta: no such setting. Did you mean prior.beta?\n")


def test_train_from_a_file_with_settings_on_top(run, tmp_path):
    (tmp_path / "my.toml").write_text(
        'epochs = 5\n[task]\np = 7\nalphabet = "operands"\n[model]\nd = 8\nd_mlp = 8\n[log]\nevery = 5\n'
    )
    code, out, _ = run("train", "my.toml", "--set", "task.p=5", "--optim", "lion", "--json")
    assert code == 0
    config = json.loads(out)[0]["config"]
    assert (config["task"]["p"], config["task"]["alphabet"], config["optim"]["kind"]) == (5, "operands", "lion")


def test_sweep_trains_the_product(run, tmp_path):
    base = "seeds = 2\nepochs = 5\n[model]\nd = 8\nd_mlp = 8\n[log]\nevery = 5\n"
    (tmp_path / "grid.toml").write_text(base + '[grid]\n"task.p" = [5, 7]\nprior.beta = [0.0, 0.5]\n')
    code, out, _ = run("sweep", "grid.toml", "--json")
    assert code == 0
    points = [(r["config"]["task"]["p"], r["config"]["prior"]["beta"], r["config"]["seed"]) for r in json.loads(out)]
    assert points == [(p, b, s) for p in (5, 7) for b in (0.0, 0.5) for s in (0, 1)]


def test_list_knows_every_component_and_setting(run):
    for component in ("tasks", "models", "priors", "optimizers", "filters", "losses", "measures"):
        code, out, _ = run("list", component, "--json")
        assert code == 0
        assert all(entry["about"] for entry in json.loads(out)), component
    code, out, _ = run("list", "tasks", "modular")
    assert "task.train_fraction" in out
    assert "parity" not in out


def test_bench_reports_ratios_side_by_side(run, tmp_path):
    words = ("bench", *TINY, "--lanes", "1,2", "--seconds", "0.1", "--device", "cpu", "-o", "speed.json")
    code, out, _ = run(*words, "--json")
    assert code == 0
    result = json.loads(out)
    stored = json.loads((tmp_path / "speed.json").read_text())
    assert stored.pop("checksum").startswith("crc32=")
    assert result == stored
    assert "CPU" in result["device"]
    assert result["command"].startswith("grokscope bench --set task.p=7")
    assert result["plain_run_steps_per_s"] > 0
    assert [row["lanes"] for row in result["fleet"]] == [1, 2]
    for row in result["fleet"]:
        assert row["ratio"] == pytest.approx(row["run_steps_per_s"] / result["plain_run_steps_per_s"], rel=0.02)
        assert 0 <= row["diagnostics"] < 1
    code, out, _ = run("bench", "--from", "speed.json")
    assert code == 0 and result["command"] in out and "× plain" in out
    changed = (tmp_path / "speed.json").read_text().replace('"lanes": 2', '"lanes": 3', 1)
    (tmp_path / "changed.json").write_text(changed)
    code, _, err = run("bench", "--from", "changed.json")
    assert code == 2 and err.startswith("--from: changed.json: damaged (its checksum is wrong")
    code, _, err = run("bench", "--from", "speed.json", "--pictures", ".")
    assert (code, err) == (2, "--pictures: speed.json has nothing to draw: it was measured without --scaling\n")
    points = [
        {"axis": "p", "value": p, "lanes": 1, "precision": "float32", "run_steps_per_s": 1.0, "limit": 2.0, "note": ""}
        for p in (31, 61)
    ]
    (tmp_path / "speed.json").write_text(json.dumps(result | {"scaling": points}))
    code, out, _ = run("bench", "--from", "speed.json", "--pictures", "drawn")
    assert code == 0 and "Scaling" in out
    assert sorted(path.name for path in (tmp_path / "drawn").iterdir()) == ["scaling.png", "scaling.svg"]


def test_version(run):
    from grokscope import __version__

    assert run("--version") == (0, f"{__version__}\n", "")


BAD = [
    (["trian"], "no such command: trian. Did you mean train?"),
    (["train", "--sed", "3"], "no such option: --sed. Did you mean --seeds?"),
    (["train", "--epochs", "3"], "no such option: --epochs. Did you mean --set epochs=…?"),
    (["train", "--epoch", "3"], "no such option: --epoch. Did you mean --set epochs=…?"),
    (["train", "--task.p", "3"], "no such option: --task.p. Did you mean --set task.p=…?"),
    (["train", "--lr", "1"], "no such option: --lr. Did you mean --set optim.lr=… or --set ticket.lr=…?"),
    (["train", "--weight-decay", "1"], "no such option: --weight-decay. Did you mean --set optim.weight_decay=…?"),
    (["runs", "--task", "parity"], "no such option: --task. Did you mean --where task=…?"),
    (["runs", "--colums", "seed"], "no such option: --colums. Did you mean --columns?"),
    (["demo", "--epochs", "3"], "no such option: --epochs. "),
    (["runs", "elsewhere"], "unexpected argument: elsewhere. grokscope runs --help explains what there is."),
    (["runs", ""], "unexpected argument: ''. grokscope runs --help explains what there is."),
    (["runs", "a", "b"], "unexpected argument: a b. grokscope runs --help explains what there is."),
    (["train", "--set", "lr=3"], "lr: no such setting. Did you mean optim.lr or ticket.lr?"),
    (["train", "--set", "bta=3"], "bta: no such setting. Did you mean prior.beta?"),
    (["train", "--set", "task.frction=0.3"], "task.frction: no such setting. Did you mean task.train_fraction?"),
    (["train", "--set", "task.p"], "--set: 'task.p' is not of the form component.field=value"),
    (["train", "--task", "modullar"], "task: no task is called 'modullar'. Did you mean modular?"),
    (["train", "--seeds", "many"], "--seeds: 'many' is neither a number nor a list such as 0,3,7"),
    (["train", "--seeds", "0"], "--seeds: '0' selects no seeds"),
    (["train", "missing.toml"], "missing.toml: cannot be read"),
    (["train", "broken.toml"], "broken.toml: is not valid TOML"),
    (["train", "grid.toml"], "grid: grid.toml is a grid; run it with: grokscope sweep grid.toml"),
    (["sweep", "plain.toml"], "grid: plain.toml has no table [grid] of lists"),
    (["sweep", "scalar.toml"], "grid.prior.beta: 1.0 is not a list of values"),
    (["sweep", "seeds.toml"], "seeds: 'a' is neither an integer nor a list of integers"),
    (["train", "--load", "mine.py"], "--load: belongs before the command, as in grokscope --load FILE.py train"),
    (["runs", "--where", "seed"], "--where: 'seed' is not of the form component.field=value"),
    (["show", ""], "the id of a run cannot be empty"),
    (["rm", "", "--yes"], "the id of a run cannot be empty"),
    (["bench", "-o", "file/speed.json"], "file: cannot be written (file is not a folder)"),
    (["train", "--set", "task.op=/", "--set", "task.p=10"], "task.p: 10 is not prime"),
    (["train", "--set", "prior.beta=-1"], "prior.beta: -1.0 is below 0"),
    (["train", "--set", "model.heads=3"], "model.heads: 3 heads do not divide d = 64"),
    (["train", "--device", "gpu"], "device: unknown device 'gpu'"),
    (["train", "--device", "cuda:99"], "device: cuda"),
    (["train", "--runs", "file"], "file"),
    (["train", "--lanes", "0"], "--lanes: '0' is neither auto nor a positive integer"),
    (["runs", "--runs", "nowhere"], "nowhere"),
    (["show", "abc", "--runs", "nowhere"], "nowhere"),
    (["report", "--runs", "nowhere"], "nowhere"),
    (["list", "taskz"], "list: unknown component 'taskz'. Did you mean tasks?"),
    (["list", "tasks", "modulr"], "task: no task is called 'modulr'. Did you mean modular?"),
    (["bench", "--lanes", "few"], "--lanes: 'few' is not a list of positive integers such as 1,5,16"),
    (["bench", "--precision", "fp32"], "precision: 'fp32' is not a valid choice. Did you mean tf32?"),
    (["bench", "--all", "--lanes", "1,2"], "--lanes: --all takes one value, not several"),
    (["bench", "--experiment", "si-fig33"], "experiment: none is called 'si-fig33'. Did you mean si-fig3?"),
    (["bench", "--experiment", "si-fig3", "--lanes", "5"], "--lanes: an experiment has its own settings; remove it"),
    (["bench", "--full"], "--full: only --experiment has two sizes; add it"),
    (["bench", "--from", "missing.json"], "--from: missing.json: missing"),
    (["bench", "--from", "broken.toml"], "--from: broken.toml: damaged (Expecting value: line 1 column 1 (char 0))"),
    (["--load", "nothing.py", "runs"], "--load: nothing.py is not a file"),
    (["demo", "--seeds", "-1"], "--seeds: '-1' selects no seeds"),
    (["demo", "--seeds", "3,-1"], "--seeds: -1 is negative"),
    (["runs", "--status", "groked"], "--status: unknown status 'groked'. Did you mean grokked?"),
    (["claims", "--scale", "fast"], "--scale: 'fast' is neither full nor quick"),
    (["equations", "nonsense"], "equations: no equation has the number or contains the word 'nonsense'"),
]


@pytest.mark.parametrize(("words", "line"), BAD, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_bad_input_is_one_clear_line_and_writes_nothing(run, tmp_path, words, line):
    (tmp_path / "broken.toml").write_text("epochs = = 3")
    (tmp_path / "grid.toml").write_text('[grid]\n"prior.beta" = [1.0]\n')
    (tmp_path / "plain.toml").write_text("epochs = 3\n")
    (tmp_path / "scalar.toml").write_text("[grid]\nprior.beta = 1.0\n")
    (tmp_path / "seeds.toml").write_text('seeds = "a"\n[grid]\nprior.beta = [1.0]\n')
    (tmp_path / "file").write_text("in the way")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    code, out, err = run(*words)
    assert code == 2
    assert out == ""
    assert err.startswith(line)
    assert err.count("\n") == 1
    assert before == sorted(path.name for path in tmp_path.rglob("*"))


def test_a_folder_of_runs_without_its_option_is_recognised(run, tmp_path):
    (tmp_path / "mine").mkdir()
    assert run("runs", "mine") == (2, "", "unexpected argument: mine. Did you mean --runs mine?\n")


def test_a_users_own_file_is_loaded(run, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\n"
        "from grokscope.optim.adamw import AdamW\n"
        "from grokscope.optim.base import optimizers\n"
        "@optimizers.register('cli-test-adam')\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Mine(AdamW):\n"
        "    '''AdamW under another name.'''\n"
    )
    from grokscope.optim import optimizers

    try:
        code, out, _ = run("--load", "mine.py", "train", *TINY, "--optim", "cli-test-adam", "--json")
        assert code == 0
        assert json.loads(out)[0]["config"]["optim"]["kind"] == "cli-test-adam"
    finally:
        optimizers.entries().pop("cli-test-adam", None)


def test_ctrl_c_says_how_to_continue(tmp_path):
    """The runs would never end by themselves. Each has a lock once it is open: from then on an interrupt saves it."""
    endless = ["--set", "epochs=1000000000", "--set", "stop.accuracy=0"]
    words = ["train", *TINY, *endless, "--seeds", "2", "--lanes", "2", "--runs", str(tmp_path / "runs")]
    command = [sys.executable, "-m", "grokscope", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    while len(list((tmp_path / "runs").glob("[!.]*/lock"))) < 2:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert "stopped at epoch" in err
    assert f"everything is saved. To continue: grokscope {shlex.join(words)}\n" in err
    assert len(re.findall(r"stopped", out)) == 2


def test_demo_end_to_end(run, tmp_path, monkeypatch):
    """The whole way of the data on a shrunken demo: runs, verdict, page, pictures."""
    from dataclasses import replace

    from grokscope import demo
    from grokscope.config import Log
    from grokscope.models.transformer import Transformer
    from grokscope.tasks.modular import Modular

    small = replace(
        demo.BASE, task=Modular(p=7, alphabet=3), model=Transformer(d=8, d_mlp=16), epochs=40, log=Log(every=5)
    )
    monkeypatch.setattr(demo, "BASE", small)
    code, out, _ = run("demo", "--seeds", "2", "-o", tmp_path / "demo", "--json")
    assert code == 0
    result = json.loads(out)
    assert set(result["claims"]) == {"delayed", "oracle_sooner", "adversarial_never"}
    assert len(result["runs"]) == 6
    assert result["criterion"] == {"threshold": 0.99, "clock": "held", "window": 100}
    page = (tmp_path / "demo" / "index.html").read_text()
    assert "mod 7" in page
    assert sorted(p.suffix for p in (tmp_path / "demo").glob("accuracy.*")) == [".png", ".svg"]
    code, out, err = run("demo", "--seeds", "2", "-o", tmp_path / "demo")
    assert code == 0
    assert "page:" in out
    assert f"to watch it in the browser: grokscope live --runs {tmp_path / 'demo' / 'runs'}\n" in err


def test_the_demo_names_a_program_that_can_be_called(monkeypatch):
    """`make demo` runs one in .venv, which is not in PATH."""
    from grokscope.cli import work

    monkeypatch.setattr("sys.argv", [".venv/bin/grokscope", "demo"])
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert work._program() == ".venv/bin/grokscope"
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/grokscope")
    assert work._program() == "grokscope"
    monkeypatch.setattr("sys.argv", ["/src/grokscope/__main__.py"])
    assert work._program() == "grokscope"


def test_a_ticket_from_the_command_line(run, tmp_path):
    code, out, _ = run("train", *TINY, "--set", "log.keep=5", "--json")
    assert code == 0
    dense = json.loads(out)[0]["id"]
    code, out, _ = run("train", *TINY, "--ticket", f"{dense}@5", "--rate", "0.5", "--json")
    assert code == 0
    ticket = json.loads(out)[0]["config"]["ticket"]
    assert (ticket["kind"], ticket["run"], ticket["epoch"], ticket["rate"]) == ("magnitude", dense, 5, 0.5)
    code, _, err = run("train", *TINY, "--ticket", f"{dense}@7")
    assert code == 2 and err.strip() == f"run {dense} has no checkpoint of epoch 7, only of 5, 10"
    code, _, err = run("train", *TINY, "--rate", "0.5")
    assert code == 2 and err.startswith("--rate: requires --ticket RUN[@EPOCH]")


def test_a_report_shows_the_figures_that_are_asked_for(run, tmp_path):
    assert run("train", *TINY)[0] == 0
    code, _, err = run("report", "--figure", "mlp-norm", "--figure", "si-bump", "-o", tmp_path / "two.html")
    assert code == 0, err
    page = (tmp_path / "two.html").read_text()
    assert page.count("<figure") == 2
    assert page.index("Norm of the MLP") < page.index("Train loss before grokking")
    code, _, err = run("report", "--figure", "mlp-nrom", "-o", tmp_path / "none.html")
    assert code == 2 and err.count("\n") == 1 and "mlp-norm" in err
    assert not (tmp_path / "none.html").exists()


def test_parts_of_the_transformer_are_listed_with_the_setting_that_chooses_them(run):
    code, out, _ = run("list", "attentions")
    assert code == 0 and "softmax\n" in out and "linear\n" in out
    assert "model.attention.temperature" in out
    assert "rotary\n" in run("list", "positions")[1]
    code, _, err = run("list", "attention")
    assert (code, err) == (2, "list: unknown component 'attention'. Did you mean attentions?\n")


def test_triton_reports_no_leaks_at_the_end():
    """It would, if the last garbage collection of the process were skipped for it as it is for others."""
    pytest.importorskip("triton")
    code = "import sys, triton; sys.argv = ['grokscope', '--version']; from grokscope.cli import main; main()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
