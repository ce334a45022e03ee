"""Odd settings in a file of the user's own, in stored runs and in tables: one line, or shown as they are."""

import json
from dataclasses import replace

import pytest

from grokscope.analysis import times_of
from grokscope.cli.look import as_objects, table_of_runs
from grokscope.errors import StoreError
from grokscope.launch import train_all
from grokscope.store import RunInfo
from grokscope.tasks import tasks

HEAD = "from dataclasses import dataclass\nfrom grokscope.tasks import Task, tasks\n@tasks.register('odd')\n"


@pytest.fixture(autouse=True)
def forget():
    known = dict(tasks.entries())
    yield
    tasks.entries().clear()
    tasks.entries().update(known)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("class Odd:\n    p = 3\n", "is not a class of settings; derive it from the base class of its component"),
        ("def Odd():\n    return 3\n", "is not a class of settings; derive it from the base class of its component"),
        ("class Odd(Task):\n    p: int = 3\n", "declares p without @dataclass(frozen=True, kw_only=True)"),
        (
            "@dataclass(frozen=True, kw_only=True)\nclass Odd(Task):\n    p: int\n",
            "has no default for p; every setting needs one",
        ),
        (
            "@dataclass(frozen=True, kw_only=True)\nclass Odd(Task):\n    p: 'Unknown' = 3\n",
            "has an annotation that cannot be read: name 'Unknown' is not defined",
        ),
    ],
)
@pytest.mark.usefixtures("unload")
def test_a_loaded_class_that_cannot_hold_settings(run, tmp_path, code, problem):
    (tmp_path / "odd.py").write_text(HEAD + code)
    expected = f"task: odd (Odd) {problem}\n"
    assert run("--load", "odd.py", "train", "--task", "odd", "--runs", "runs") == (2, "", expected)
    assert not (tmp_path / "runs").exists()


@pytest.fixture
def stored(tiny, tmp_path):
    """Two short runs in runs/."""
    return train_all([replace(tiny, epochs=5, seed=seed) for seed in (0, 1)], runs=tmp_path / "runs", device="cpu")


def test_brackets_in_a_setting_are_not_markup(tiny, tmp_path, capsys):
    settings = replace(tiny).to_dict()
    settings["loss"] = "[/x]"
    other = {**settings, "loss": "[red]"}
    infos = [RunInfo(id=str(n), path=tmp_path, status="damaged", config=c) for n, c in enumerate((settings, other))]
    table_of_runs(infos)
    assert "[/x]" in (shown := capsys.readouterr().out) and "[red]" in shown


def test_a_name_in_brackets_is_refused_as_it_is(run):
    code, _, err = run("train", "--set", "loss=[/x]")
    assert code == 2 and err.startswith("loss: no loss is called '[/x]'. Choose from: ")


def test_wrong_types_in_a_summary_are_named(stored):
    info = stored[0]
    summary = {**info.summary, "t_mem": "soon", "test_accuracy": [1]}
    with pytest.raises(StoreError, match=f"^run {info.id}: t_mem of its summary is 'soon', which is not a time$"):
        times_of(replace(info, summary=summary))
    table_of_runs([replace(info, summary=summary), stored[1]])
    first, second = json.loads(json.dumps(as_objects([replace(info, summary=summary), stored[1]])))
    assert first["t_mem"] is None and second["epoch"] == 5
