"""The command: what it prints, what it writes, and one line for what is wrong."""

import json
import re

import pytest

from grokscope.cli import main
from grokscope.cli.progress import Display
from grokscope.launch import local

TINY = [
    *("--set", "task.p=11", "--set", "task.distractors=1", "--set", "task.train_fraction=0.8", "--set", "epochs=20"),
    *(
        "--set",
        "task.confirmation=0.1",
        "--set",
        "model.d=8",
        "--set",
        "model.d_mlp=16",
        "--set",
        "stop.accuracy=0",
        "--set",
        "search.schedule.first=10",
    ),
    *("--device", "cpu"),
]


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def command(*words):
        monkeypatch.setattr("sys.argv", ["grokscope", *words])
        with pytest.raises(SystemExit) as end:
            main(list(words))
        out, err = capsys.readouterr()
        return end.value.code, out, err

    return command


def test_a_search_prints_and_stores_its_tournament(run, tmp_path):
    code, out, _ = run("search", *TINY, "--k", "2", "--json")
    assert code == 0
    plain = json.loads(out)
    assert plain["candidates"] == 3 == len(plain["tournament"])
    assert plain["status"] == "finished" and plain["found"] in (True, False)
    assert {"epoch", "run_steps", "why"} == set(plain["decided"])
    folder = tmp_path / "runs" / f"search-{plain['search']}"
    assert {path.name for path in folder.iterdir()} == {
        "index.html",
        "tournament.json",
        "tournament.svg",
        "tournament.png",
    }
    assert "<svg" in (folder / "tournament.svg").read_text()
    code, out, _ = run("search", *TINY, "--k", "2", "--quiet", "--rivals", "plain")
    assert code == 0 and "support found" in out.lower() and "plain" in out
    code, out, _ = run("runs", "--json")
    assert code == 0 and len(json.loads(out)) == 4, "the folder of the search is no run"


def test_candidates_that_are_not_stored_are_marked(run, monkeypatch):
    monkeypatch.setattr("grokscope.searching.schedules.base.leads", lambda rivals, chance: True)
    code, out, _ = run("search", *TINY, "--k", "2", "--quiet")
    assert code == 0 and out.count("not stored") == 2
    code, out, _ = run("runs", "--json")
    assert code == 0 and len(json.loads(out)) == 1, "the winner"


def test_why_candidates_were_dropped_is_printed(run, monkeypatch):
    monkeypatch.setattr("grokscope.searching.schedules.base.leads", lambda rivals, chance: True)
    code, out, _ = run("search", *TINY, "--k", "2", "--quiet")
    dropped = [line for line in out.splitlines() if "epoch 10" in line and "position" in line and "decided" not in line]
    assert code == 0 and len(dropped) == 2
    assert all(re.search(r"epoch 10 +loss \d\.\d{3} against \d\.\d{3}$", line.rstrip()) for line in dropped)


def test_a_split_of_size_0_in_the_file_is_refused_too(run, tmp_path):
    (tmp_path / "own.toml").write_text("[task]\nvalidation = 0.0\n")
    code, _, err = run("search", "own.toml", *TINY)
    assert code == 2 and err.startswith("task.validation: no validation split left")
    (tmp_path / "own.toml").write_text('task = "parity"\n')
    code, _, err = run("search", "own.toml", "--k", "99")
    assert code == 2 and err.startswith("search.k")


def test_settings_of_the_search_in_the_file_are_refused(run, tmp_path):
    (tmp_path / "own.toml").write_text('[task]\np = 11\n[search]\nschedule = "racing"\nk = 2\n')
    code, out, err = run("search", "own.toml", *TINY)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line == "search: settings of the search are not part of a run; give them with --set search.schedule=racing"
    assert not (tmp_path / "runs").exists()


def test_what_was_never_tried_is_said(run):
    words = ("search", *TINY, "--set", "task.distractors=4", "--set", "search.proposal=grow")
    code, out, _ = run(*words, "--budget", "130", "--quiet")
    tried = "No support found among those that were tried, 3 of the 15 of 2 units and none of 3 or 4 units"
    assert code == 0 and f"{tried} (budget: 130 run-steps)." in " ".join(out.split())
    code, out, err = run(*words, "--budget", "100", "--k", "4", "--quiet")
    assert code == 2 and err.startswith("search.budget: 100 run-steps are too few for one rung: grow needs at least")
    code, out, _ = run("search", *TINY, "--quiet")
    assert code == 0 and "tried" not in out, "all subsets were"


def test_a_search_that_is_repeated_says_what_was_trained_before(run):
    words = ("search", *TINY, "--k", "2", "--quiet")
    code, out, _ = run(*words)
    assert code == 0 and "from before" not in out
    code, out, _ = run(*words)
    assert code == 0 and re.search(r"Of (\d+) run-steps 0 were trained now; the others are stored from before\.", out)


def test_progress_shows_no_test_accuracy(run, monkeypatch):
    monkeypatch.setattr("grokscope.cli.progress.Display.__init__", every_update(Display.__init__))
    code, _, err = run("search", *TINY, "--k", "2")
    assert code == 0 and "best held-out loss " in err and "test" not in err


def every_update(begin):
    def make(self, *about, **how):
        begin(self, *about, **how, every=0.0)

    return make


def test_an_interrupted_search_says_what_begins_again(run, monkeypatch):
    with monkeypatch.context() as patch:
        whole = local.train_in_memory
        patch.setattr(local, "train_in_memory", lambda runs, **how: whole(runs[:1], **how))
        code, out, err = run("search", *TINY, "--k", "2")
    assert (code, out) == (130, "")
    saved = (
        "stopped; what was measured is saved, and 2 candidates that were not yet compared begin again. To continue: "
    )
    assert err.splitlines()[-1].startswith(saved + "grokscope search")
    code, out, _ = run("search", *TINY, "--k", "2", "--json")
    assert code == 0 and json.loads(out)["status"] == "finished"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--k", "7"), "search.k: 7 is more than the 3 units that a support can be made of"),
        (
            ("--budget", "5"),
            "search.budget: 5 run-steps are too few for one rung: auto needs at least 40 to compare 3 candidates at epoch 10",
        ),
        (("--budget", "0"), "--budget: 0 is below 1"),
        (("--k", "2", "--set", "search.k=3"), "--k: is given twice: 2, and search.k=3 with --set"),
        (
            ("--set", "task.validation=0.001"),
            "task.validation: 0.001 of 96 training examples leaves no example for validation",
        ),
        (
            ("--set", "model=embedding-mlp"),
            "model: embedding-mlp has no attention: a search compares priors on attention",
        ),
        (
            ("--set", "task.validation=0"),
            "task.validation: no validation split left, by which candidates are judged; leave the setting out, or choose a "
            "fraction such as 0.1",
        ),
        (
            ("--set", "task.confirmation=0.0"),
            "task.confirmation: no confirmation split left, on which the winner is tested; leave the setting out, or choose a "
            "fraction such as 0.1",
        ),
        (
            ("--set", "search.level=0.00001"),
            "search.level: 1e-05 is below 0.0001, the smallest p of 9,999 permutations",
        ),
        (("--set", "search.family=clases"), "search.family: no support is called 'clases'. Did you mean classes?"),
        (("--rivals", "stgg"), "rival: no rival is called 'stgg'. Did you mean stg?"),
        (
            ("--set", "search=racing"),
            "search: settings of the search are not part of a run; give them with --set search.k=2",
        ),
        (("--set", "search.budgte=5"), "search.budgte: no such setting. Did you mean search.budget?"),
    ],
)
def test_bad_input_is_one_line(run, tmp_path, words, line):
    code, out, err = run("search", *TINY, *words)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == line
    assert not (tmp_path / "runs").exists()


def test_what_a_search_is_made_of_is_listed(run):
    for component, name in (
        ("supports", "classes"),
        ("proposals", "grow"),
        ("schedules", "racing"),
        ("rivals", "hard-concrete"),
    ):
        code, out, _ = run("list", component)
        assert code == 0 and f"{name}\n" in out
    assert "search.schedule.first" in run("list", "schedules")[1]
