"""The Python interface: names, settings by name, callbacks, a loop of one's own, figures of runs and tables."""

import inspect
import io
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import grokscope
from grokscope import ConfigError, GrokscopeError, RunConfig, StoreError, plot
from grokscope.attach import watching
from grokscope.attach.watching import Bar, Watch, bar_for
from grokscope.conditions import LONGEST
from grokscope.models.parts.attention.softmax import Softmax
from grokscope.models.transformer import Transformer
from grokscope.optim.adamw import AdamW
from grokscope.tasks.modular import Modular


def test_the_public_names_are_listed_and_can_be_used():
    assert {"RunConfig", "train", "load_runs", "watch", "log", "plot", "analysis", "__version__"} <= set(dir(grokscope))
    assert all(getattr(grokscope, name) is not None for name in dir(grokscope))
    assert "curves" in dir(grokscope.plot)


def test_components_may_be_names_or_dicts():
    config = RunConfig(task="parity", optim={"lr": 0.01}, log={"every": 10}, model={"attention": "linear"})
    assert (config.task.kind, config.optim.lr, config.log.every) == ("parity", 0.01, 10)
    assert config.model.attention.kind == "linear"
    assert replace(RunConfig(), task="parity") == RunConfig(task="parity")
    assert RunConfig(task="modular").id == RunConfig().id


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"task": "party"}, "task: no task is called 'party'. Did you mean parity?"),
        ({"optim": {"lrr": 1}}, "optim.lrr: no such setting. Did you mean optim.lr?"),
        ({"task": 3}, "task: 3 is not a table of settings"),
        ({"log": "often"}, "log: 'often' is not a table of settings"),
    ],
)
def test_a_wrong_component_is_one_line(given, line):
    with pytest.raises(ConfigError) as error:
        RunConfig(**given)
    assert str(error.value) == line


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"precision": "fp8"}, "precision: 'fp8' is not a valid choice. Choose from: auto, bf16, float32, tf32."),
        ({"epochs": "ten"}, "epochs: 'ten' is not an integer"),
        ({"epochs": 3.5}, "epochs: 3.5 is not an integer"),
        ({"batch_size": 1.5}, "batch_size: 1.5 is not an integer"),
        ({"exact": "maybe"}, "exact: 'maybe' is neither true nor false"),
        ({"loss": 3}, "loss: 3 is not a string"),
        ({"task": Modular(p="many")}, "task.p: 'many' is not an integer"),
        (
            {"model": Transformer(attention=Softmax(temperature="hot"))},
            "model.attention.temperature: 'hot' is not a num",
        ),
        ({"epoch": 5}, "epoch: no such setting. Did you mean epochs?"),
        ({"foo": 1}, "foo: no such setting. Choose from: batch_size, "),
        ({"task": "parity", "n": 12}, 'n: no such setting. Did you mean task={"kind": "parity", "n": 12}?'),
        ({"lr": 0.1}, 'lr: no such setting. Did you mean optim={"lr": 0.1}?'),
    ],
)
def test_a_wrong_setting_is_one_line(given, line):
    with pytest.raises(ConfigError) as error:
        RunConfig(**given)
    assert str(error.value).startswith(line)
    assert "\n" not in str(error.value)
    with pytest.raises(ConfigError):
        replace(RunConfig(), **given)


def test_values_in_python_are_converted_as_those_of_a_file():
    config = RunConfig(epochs=1e3, seed=np.int64(3), task=Modular(p=31.0), optim=AdamW(lr=1))
    assert config == RunConfig(epochs=1000, seed=3, task=Modular(p=31), optim=AdamW(lr=1.0))
    assert [type(value) for value in (config.epochs, config.seed, config.task.p, config.optim.lr)] == [int] * 3 + [
        float
    ]
    assert "epochs" in inspect.signature(RunConfig).parameters  # what a notebook completes


@pytest.mark.parametrize("seeds", ["x", 2.5, b"2", [0, "a"], [0.5], True])
def test_wrong_seeds_are_one_line_before_anything_is_written(seeds, tmp_path):
    with pytest.raises(
        ConfigError, match=r"^seeds: .* is (neither a number of seeds nor a list of them|not an integer)$"
    ):
        grokscope.train(RunConfig(), seeds=seeds, runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_config_from_a_file(tmp_path):
    file = tmp_path / "my.toml"
    file.write_text('epochs = 50\ntask = { p = 31 }\nprior = "entropy"\n')
    config = RunConfig.from_toml(file, {"prior.beta": 0.3, "seed": 4})
    assert (config.epochs, config.task.p, config.prior.kind, config.prior.beta, config.seed) == (
        50,
        31,
        "entropy",
        0.3,
        4,
    )
    with pytest.raises(ConfigError, match=r"none.toml: cannot be read"):
        RunConfig.from_toml(str(tmp_path / "none.toml"))
    file.write_text("epochs = 0\n")
    with pytest.raises(ConfigError, match="epochs: 0 is below 1"):
        RunConfig.from_toml(file)


# ── training ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_callbacks_see_every_evaluation(tiny, tmp_path):
    rows = []
    runs = grokscope.train(tiny, seeds=2, runs=tmp_path / "runs", device="cpu", callbacks=[rows.append], name="mine")
    assert [run.name for run in runs] == ["mine", "mine"]
    for run in runs:
        own = [row for row in rows if row["run"] == run.id]
        assert [row["epoch"] for row in own] == [0, 5, 10, 12]
        assert own[-1]["seed"] == run.config["seed"]
        assert own[-1]["status"] == "done" and own[0]["status"] == "running"
        metrics = grokscope.read_metrics(run)
        assert len(repr(metrics)) < 200 and f"run {run.id}: {len(metrics)} evaluations, epochs 0 to " in repr(metrics)
        assert metrics["epoch"].to_pylist() == list(metrics.to_pandas()["epoch"]) and "epoch" in metrics.column_names
        stored = metrics.to_pandas()
        assert [row["test_accuracy"] for row in own] == list(stored["test_accuracy"])


def test_names_are_a_column_where_there_are_any(tiny, tmp_path):
    grokscope.train(tiny, runs=tmp_path, device="cpu")
    assert "name" not in grokscope.load_runs(tmp_path)
    grokscope.train(replace(tiny, seed=1), seeds=[1], runs=tmp_path, device="cpu", name="mine")
    assert set(grokscope.load_runs(tmp_path)["name"]) == {"", "mine"}
    assert len({run.arm for run in plot.curves_of(grokscope.load_runs(tmp_path))}) == 1  # a name is not a setting


def test_a_callback_that_fails_is_named_and_training_continues(tiny, tmp_path, capsys):
    def broken(row):
        raise KeyError("no such column")

    rows = []
    (run,) = grokscope.train(tiny, runs=tmp_path / "runs", device="cpu", callbacks=[broken, rows.append])
    assert run.status == "done" and len(rows) == 4
    assert capsys.readouterr().err.count("callback broken failed and is not called again (KeyError:") == 1


def test_a_bar_is_shown_where_somebody_looks(tiny, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(watching, "EVERY", 0.0)
    assert bar_for("auto") is None and bar_for(False) is None  # not a terminal
    grokscope.train(tiny, seeds=2, runs=tmp_path / "runs", device="cpu", progress=True)
    shown = capsys.readouterr().err
    assert "█ 100%  2 of 2 runs finished, epoch 12, best test accuracy " in shown
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert type(bar_for("auto")) is Bar
    monkeypatch.setattr(watching, "in_notebook", lambda: True)
    assert type(bar_for("auto")) is watching.NotebookBar
    with pytest.raises(ConfigError, match="progress: 'yes' is neither"):
        grokscope.train(tiny, runs=tmp_path / "runs", device="cpu", progress="yes")


def test_a_bar_in_a_notebook_is_one_output_that_is_updated(monkeypatch):
    shown = []

    class Handle:
        def update(self, data, raw):
            shown.append(("update", data["text/plain"], raw))

    def display(data, raw, display_id):
        shown.append(("display", data["text/plain"], raw))
        return Handle()

    fake = type(sys)("IPython.display")
    fake.display = display
    monkeypatch.setitem(sys.modules, "IPython", type(sys)("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", fake)
    bar = watching.NotebookBar()
    bar.show(1.0, "a")
    bar.show(1.0, "b")
    assert [(kind, raw) for kind, _, raw in shown] == [("display", True), ("update", True)]
    assert shown[1][1].endswith("100%  b")


def test_a_display_of_ones_own_is_still_called(tiny, tmp_path):
    class Display:
        calls = 0

        def update(self, lanes, waiting):
            self.calls += 1

    display = Display()
    grokscope.train(tiny, runs=tmp_path / "runs", device="cpu", progress=display)
    assert display.calls == 4


def test_runs_that_end_early_count_as_whole(tiny):
    class Lane:
        epoch, status, last = 6, "grokked", {"epoch": 6, "test_accuracy": 1.0}

        class job:  # noqa: N801
            config = tiny

    drawn = []
    bar = Bar()
    bar.draw = drawn.append
    Watch([tiny], bar, ()).update([Lane()], 0)
    assert "100%  1 of 1 runs finished" in drawn[0]


# ── a loop of one's own ───────────────────────────────────────────────────────────────────────────────────────────────


def write(to, seed=0, lr=0.1, delay=400, **how):
    with grokscope.log(to, name="mine", seed=seed, settings={"lr": lr}, **how) as run:
        for epoch in range(0, 1001, 25):
            test = float(np.clip((epoch - delay) / 100, 0, 1))
            run.row(
                epoch, train_accuracy=min(1.0, epoch / 100), test_accuracy=test, train_loss=1 / (1 + epoch), extra=lr
            )
    return run


def test_a_loop_is_a_run_with_times_phases_and_a_report(tmp_path, run):
    for seed in range(3):
        write("runs", seed, 0.1, 400)
        write("runs", seed, 0.01, 600)
    listed = grokscope.list_runs("runs")
    assert len(listed) == 6 and {one.status for one in listed} == {"grokked"}
    assert {one.summary["t_grok"] for one in listed} == {500, 700}
    code, out, _ = run("runs")
    assert code == 0 and out.splitlines()[0].split()[:4] == ["run", "name", "lr", "seed"]
    assert "Grokking (test accuracy ≥ 99 %, held 100 epochs): at epoch " in run("show", listed[0].id)[1]
    assert run("report", "-o", "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text()
    assert "lr = 0.01: median 700 epochs" in page and "lr = 0.1: median 500 epochs" in page
    table = grokscope.load_runs("runs")
    assert set(table["extra"]) == {0.1, 0.01}


def test_a_loop_is_written_once_unless_again(tmp_path):
    first = write(tmp_path)
    with pytest.raises(StoreError, match=r"is stored in .* already: again=True replaces it"):
        write(tmp_path)
    assert write(tmp_path, again=True, delay=800).id == first.id
    assert grokscope.find_run(tmp_path, first.id).summary["t_grok"] == 900
    assert repr(first) == f"<LoggedRun {first.id}, 41 rows, ended>"


def test_a_loop_that_fails_is_kept_and_says_why(tmp_path):
    with pytest.raises(ZeroDivisionError), grokscope.log(tmp_path, name="mine") as run:
        run.row(0, train_accuracy=0.1, test_accuracy=0.1)
        run.row(1, train_accuracy=1 / 0)
    (stored,) = grokscope.list_runs(tmp_path)
    assert (stored.status, stored.epoch) == ("failed", 0) and "ZeroDivisionError" in stored.reason


def test_what_would_be_a_wrong_number_is_refused(tmp_path):
    with grokscope.log(tmp_path, name="mine") as run:
        run.row(5, train_accuracy=1.0)
        for epoch, values, line in (
            (5, {}, "epoch: 5 is not above 5, that of the row before"),
            (2.5, {}, "epoch: 2.5 is not an integer of at least 0"),
            (6, {"test_accuracy": 97.0}, "test_accuracy: 97 is not a fraction between 0 and 1"),
            (
                6,
                {"testaccuracy": 0.9},
                "testaccuracy: is not a column that times are found from. Did you mean test_accuracy?",
            ),
        ):
            with pytest.raises(ConfigError) as error:
                run.row(epoch, **values)
            assert str(error.value) == line
    assert len(run.rows) == 1
    with pytest.raises(GrokscopeError, match="has ended"):
        run.row(7)


# ── figures ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_png(figure):
    return figure._repr_png_().startswith(b"\x89PNG")


def test_figures_of_a_folder_of_runs_and_of_a_table_are_the_same(tmp_path):
    for seed in range(3):
        write(tmp_path, seed, 0.1, 400)
        write(tmp_path, seed, 0.01, 600)
    runs = grokscope.list_runs(tmp_path)
    for given in (tmp_path, str(tmp_path), runs, grokscope.load_runs(tmp_path)):
        data = plot.curves_of(given)
        assert [(run.arm, run.t_grok) for run in data] == [("lr = 0.01", 700)] * 3 + [("lr = 0.1", 500)] * 3
        assert is_png(plot.curves(given))
    one = plot.curves_of(runs[0])
    assert [(run.arm, run.seed) for run in one] == [("all runs", 0)]
    by_seed = plot.curves_of(grokscope.load_runs(tmp_path), by="seed")
    assert {run.arm for run in by_seed} == {"seed = 0", "seed = 1", "seed = 2"}


def table(arms):
    """Evaluations of runs that no program of ours has trained."""
    rows = []
    for number, (arm, delay) in enumerate(arms):
        for epoch in range(0, 1001, 50):
            accuracy = float(np.clip((epoch - delay) / 100, 0, 1))
            rows.append({"run": number, "arm": arm, "epoch": epoch, "train_accuracy": 1.0, "test_accuracy": accuracy})
    return pd.DataFrame(rows)


def test_figures_and_times_of_a_table_of_ones_own():
    own = table([("slow", 700), ("slow", 750), ("fast", 100)])
    assert is_png(plot.times(own)) and is_png(plot.metric(own, "test_accuracy")) and is_png(plot.curves(own))
    assert [(run.arm, run.t_grok) for run in plot.curves_of(own)] == [("slow", 800), ("slow", 850), ("fast", 200)]
    alone = own[own["run"] == 0].drop(columns=["run", "arm"])
    assert grokscope.analysis.run_times(alone).t_grok == 800
    assert plot.curves_of(alone)[0].arm == "all runs"
    without = alone.drop(columns=["train_accuracy", "test_accuracy"]).assign(loss=1.0)
    assert is_png(plot.metric(without, "loss"))


def test_a_figure_can_be_saved_after_it_was_shown(tmp_path):
    figure = plot.times(table([("slow", 700), ("fast", 100)]))
    assert figure._repr_png_() == figure._repr_png_()
    figure.savefig(buffer := io.BytesIO(), format="svg")
    assert b"<svg" in buffer.getvalue()


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (
            lambda t: plot.metric(t, "test_accurcy"),
            "column: no run has a column 'test_accurcy'. Did you mean test_accuracy?",
        ),
        (lambda t: plot.curves(t.drop(columns="epoch")), "runs: the table has no column `epoch`"),
        (lambda t: plot.curves(t, by="armm"), "by: the table has no column 'armm'. Did you mean arm?"),
        (lambda t: plot.norm(t), "figure: 'mlp-norm' needs mlp_norm, which no run recorded after epoch 0"),
        (lambda t: plot.curves(7), "runs: int is neither a folder, runs, a scope nor a table of evaluations"),
        (lambda t: plot.figure("tmies", t), "figure: no figure is called 'tmies'. Did you mean times?"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(call, line):
    with pytest.raises(ConfigError) as error:
        call(table([("a", 100)]))
    assert str(error.value).startswith(line)


def test_a_trained_run_is_drawn_with_its_positions(tiny, tmp_path):
    runs = grokscope.train(tiny, seeds=2, runs=tmp_path / "runs", device="cpu")
    assert all(
        map(is_png, (plot.attention(runs), plot.gradient(runs), plot.norm(runs), plot.metric(runs, "D", log=True)))
    )
    assert plot.curves_of(runs)[0].positions[:2] == ["a", "b"]
    assert len(plot.curves_of(runs)[0].arm) <= LONGEST


def test_a_run_is_one_short_line(tiny, tmp_path):
    (run,) = grokscope.train(tiny, runs=tmp_path / "runs", device="cpu")
    assert repr(run) == f"<Run {run.id} done at epoch 12, seed 0>"


def test_a_seed_that_is_set_is_trained(tiny, tmp_path):
    """Seeds that are chosen otherwise take its place only if they include it."""
    (alone,) = grokscope.train(replace(tiny, seed=7, epochs=2), runs=tmp_path, progress=False)
    assert alone.config["seed"] == 7
    both = grokscope.train(replace(tiny, seed=7, epochs=2), seeds=[6, 7], runs=tmp_path, progress=False)
    assert [run.config["seed"] for run in both] == [6, 7] and both[1].id == alone.id
    with pytest.raises(ConfigError, match="seed: 7 is set, but seeds chooses other seeds"):
        grokscope.train(replace(tiny, seed=7, epochs=2), seeds=3, runs=tmp_path, progress=False)


def test_tab_completion_shows_the_public_names_of_the_analysis():
    assert sorted(grokscope.analysis.__all__) == dir(grokscope.analysis)
    assert "run_times" in dir(grokscope.analysis)
