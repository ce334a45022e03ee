"""Files given with --load: their neighbours, what is recorded of them, and their errors as the user's own."""

import hashlib
import json
import sys

import pytest

from grokscope import loading
from grokscope.measures import measures
from grokscope.store import list_runs, read_metrics

TINY = [
    *("--set", "task.p=7", "--set", "task.alphabet=3", "--set", "task.train_fraction=0.6"),
    *("--set", "model.d=8", "--set", "model.d_mlp=16", "--set", "epochs=20", "--set", "log.every=5", "--device", "cpu"),
]

MEASURE = """from grokscope.measures import measures
from neighbour import scaled

@measures.register("{name}")
def {name}(view):
    '''The prior loss, scaled.'''
    return {{"{name}": scaled(view.prior_loss)}}
"""


pytestmark = pytest.mark.usefixtures("unload")


def write(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


def test_a_file_imports_its_neighbours_now_and_later(run, tmp_path):
    late = "def scaled(x):\n    import later\n    return later.FACTOR * x\n"
    write(tmp_path / "mine", mine=MEASURE.format(name="scaled_prior"), neighbour=late, later="FACTOR = 2.0\n")
    words = ("--load", "mine/mine.py", "train", *TINY, "--set", "prior.beta=0.5")
    code, _, err = run(*words, "-q")
    assert code == 0, err
    (stored,) = list_runs("runs")
    table = read_metrics(stored).to_pandas()
    assert (table["scaled_prior"] == 2 * table["prior_loss"]).all()
    assert stored.manifest["measures"] == list(measures.entries())


def test_the_manifest_records_the_files_as_they_were_imported(run, tmp_path):
    sources = {"mine": MEASURE.format(name="own"), "neighbour": "def scaled(x):\n    return x\n"}
    write(tmp_path / "mine", **sources, unused="raise SystemExit\n")
    loading.load_file(tmp_path / "mine" / "mine.py")
    (tmp_path / "mine" / "neighbour.py").write_text("changed since\n")
    assert run("train", *TINY, "-q")[0] == 0
    loaded = list_runs("runs")[0].manifest["loaded"]
    assert [file["path"] for file in loaded] == [str(tmp_path / "mine" / f"{name}.py") for name in sources]
    assert [file["source"] for file in loaded] == list(sources.values())
    assert [file["sha256"] for file in loaded] == [hashlib.sha256(s.encode()).hexdigest() for s in sources.values()]


def test_without_loaded_files_the_manifest_says_so(run):
    assert run("train", *TINY, "-q")[0] == 0
    assert list_runs("runs")[0].manifest["loaded"] == []


def test_a_measure_that_finished_runs_lack_and_code_that_has_changed_are_reported(run, tmp_path, unload):
    write(tmp_path, mine=MEASURE.format(name="own"), neighbour="def scaled(x):\n    return x\n")
    loaded = ("--load", "mine.py", "train", *TINY, "-q", "--seeds")
    assert run(*loaded[2:], "2")[2] == ""
    line = (
        "2 finished runs were trained without own: now evaluated at 1 kept checkpoint each; --again retrains for every "
    )
    assert run(*loaded, "3")[2] == f"{line}evaluation\n"
    assert run(*loaded, "3")[2] == ""
    assert run(*loaded, "3", "--again")[2] == "deleted 3 stored runs; training from scratch\n"
    assert run(*loaded, "3")[2] == ""
    unload()
    write(tmp_path, neighbour="def scaled(x):\n    return 2 * x  # changed\n")
    line = "neighbour.py has changed since 3 finished runs were created with it: --again retrains them\n"
    assert run(*loaded, "4")[2] == line
    unload()
    assert run(*loaded[2:], "4")[2] == ""


def test_files_of_the_same_name_in_two_folders(run, tmp_path):
    text = "from grokscope.measures import measures\n@measures.register('{0}')\ndef {0}(view):\n    '''Zero.'''\n    return {{}}\n"
    write(tmp_path / "a", mine=text.format("first"))
    write(tmp_path / "b", mine=text.format("second"))
    code, out, err = run("--load", "a/mine.py", "--load", "b/mine.py", "--load", "a/mine.py", "list", "measures")
    assert code == 0, err
    assert "first" in out and "second" in out


def test_neighbours_of_the_same_name_are_refused(run, tmp_path):
    for folder, name in (("a", "first"), ("b", "second")):
        write(tmp_path / folder, mine=MEASURE.format(name=name), neighbour="def scaled(x):\n    return x\n")
    code, out, err = run("--load", "a/mine.py", "--load", "b/mine.py", "list", "measures")
    assert (code, out) == (2, "")
    assert err == (
        f"--load: {tmp_path}/a/neighbour.py and a module in {tmp_path}/b are both called 'neighbour': rename one of them\n"
    )


def test_a_neighbour_that_only_the_first_file_imports_is_kept(run, tmp_path):
    write(tmp_path / "a", mine=MEASURE.format(name="first"), neighbour="def scaled(x):\n    return x\n")
    write(tmp_path / "b", other="import sys\n", neighbour="raise SystemExit('not imported')\n")
    assert run("--load", "a/mine.py", "--load", "b/other.py", "list", "measures")[0] == 0
    assert sys.modules["neighbour"].__file__ == str(tmp_path / "a" / "neighbour.py")


ERRORS = {
    "at import": (
        {"mine": "import math\n\n\nx = math.sqrt(-1.0)\n"},
        ["mine.py, line 4, in <module>", "    x = math.sqrt(-1.0)", "ValueError: "],
    ),
    "a missing module": (
        {"mine": "from neighbor import scaled\n"},
        ["mine.py, line 1, in <module>", "    from neighbor import scaled", "ModuleNotFoundError: No module named"],
    ),
    "syntax": ({"mine": "def f(:\n    pass\n"}, ["mine.py, line 1", "    def f(:", "SyntaxError: invalid syntax"]),
    "in a neighbour": (
        {"mine": "import neighbour\n", "neighbour": "\ndef f():\n    return {}['key']\n\nf()\n"},
        ["neighbour.py, line 3, in f", "    return {}['key']", "KeyError: 'key'"],
    ),
    "syntax of a neighbour": (
        {"mine": "import neighbour\n", "neighbour": "x = = 3\n"},
        ["neighbour.py, line 1", "    x = = 3", "SyntaxError: invalid syntax"],
    ),
    "without a message": (
        {"mine": "raise RuntimeError\n"},
        ["mine.py, line 1, in <module>", "    raise RuntimeError", "RuntimeError"],
    ),
    "several lines": (
        {"mine": "raise ValueError('one\\n  two')\n"},
        ["mine.py, line 1, in <module>", "    raise ValueError('one\\n  two')", "ValueError: one two"],
    ),
    "through another package": (
        {"mine": "import json\njson.loads('{')\n"},
        ["mine.py, line 2, in <module>", "    json.loads('{')", "JSONDecodeError: "],
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_at_import_is_three_lines(run, tmp_path, case):
    files, lines = ERRORS[case]
    write(tmp_path, **files)
    code, out, err = run("--load", "mine.py", "list", "tasks")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 3
    for said, line in zip(err.splitlines(), lines, strict=True):
        assert said.startswith(line)


def test_an_error_of_ours_that_a_file_causes_is_one_line(run, tmp_path):
    text = "from grokscope.optim import optimizers\n@optimizers.register('adamw')\nclass Mine: pass\n"
    write(tmp_path, mine=text)
    code, _, err = run("--load", "mine.py", "list", "tasks")
    assert code == 2
    assert err == "optim: 'adamw' is registered twice; choose another name\n"


FAILS_AT_EPOCH_10 = """from dataclasses import dataclass
from grokscope.optim import optimizers
from grokscope.optim.adamw import AdamW

calls = []

@optimizers.register("failing")
@dataclass(frozen=True, kw_only=True)
class Failing(AdamW):
    '''AdamW that fails at its eleventh step.'''

    def update(self, *arguments, **options):
        calls.append(1)
        if len(calls) == 11:
            raise TypeError("the user's own error")
        return super().update(*arguments, **options)
"""


def test_an_error_in_training_is_three_lines_and_what_was_trained_is_saved(run, tmp_path):
    write(tmp_path, mine=FAILS_AT_EPOCH_10)
    words = ("--load", "mine.py", "train", *TINY, "--optim", "failing", "--json")
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "mine.py, line 15, in update",
        '    raise TypeError("the user\'s own error")',
        "TypeError: the user's own error",
    ]
    (stored,) = list_runs("runs")
    assert (stored.status, stored.epoch, len(read_metrics(stored))) == ("failed", 10, 3)
    assert stored.reason == "TypeError: the user's own error"
    code, out, _ = run(*words)
    assert (code, json.loads(out)[0]["status"], json.loads(out)[0]["epoch"]) == (0, "done", 20)


def test_the_whole_traceback_on_request(run, tmp_path, monkeypatch):
    write(tmp_path, mine="import math\nx = math.sqrt(-1.0)\n")
    monkeypatch.setenv("GROKSCOPE_TRACEBACK", "1")
    code, _, err = run("--load", "mine.py", "list", "tasks")
    assert code == 2
    assert err.startswith("Traceback (most recent call last):")
    assert "exec_module" in err and f'File "{tmp_path}/mine.py", line 2' in err
    code, _, err = run("train", "--task", "modullar")
    assert code == 2
    assert err.rstrip().endswith("ConfigError: task: no task is called 'modullar'. Did you mean modular?")


def test_an_error_elsewhere_is_not_taken_for_the_users(run, tmp_path, monkeypatch):
    write(tmp_path, mine="x = 1\n")
    monkeypatch.setattr("grokscope.cli.look.table_of_runs", lambda *given, **how: 1 / 0)
    (tmp_path / "runs").mkdir()
    monkeypatch.setattr(sys, "argv", ["grokscope", "--load", "mine.py", "runs"])
    from grokscope.cli import main

    with pytest.raises(ZeroDivisionError):
        main()


@pytest.mark.parametrize(
    ("file", "line"),
    [("nothing.py", "is not a file"), ("folder", "is not a file"), ("picture.png", "is not a Python file")],
)
def test_a_file_that_cannot_be_imported(run, tmp_path, file, line):
    (tmp_path / "folder").mkdir()
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    code, out, err = run("--load", file, "runs")
    assert (code, out) == (2, "")
    assert err == f"--load: {file} {line}\n"
