"""`grokscope rm` deletes stored runs, and `--again` trains them from scratch."""

import io
import json
import shlex
import sys

import pytest

from grokscope.store import RunFolder, find_run, list_runs, read_checkpoint

TINY = [
    *("--set", "task.p=7", "--set", "task.alphabet=3", "--set", "task.train_fraction=0.6"),
    *("--set", "model.d=8", "--set", "model.d_mlp=16", "--set", "epochs=10", "--set", "log.every=5", "--device", "cpu"),
]


@pytest.fixture
def trained(run):
    """Ids of three finished runs."""
    return [r["id"] for r in json.loads(run("train", *TINY, "--seeds", "3", "--json")[1])]


def left():
    """Ids of the runs that are left, by seed."""
    return [run.id for run in sorted(list_runs("runs"), key=lambda run: run.config["seed"])]


class Terminal(io.StringIO):
    """A person at the keyboard."""

    def isatty(self):
        return True


def test_named_runs_are_deleted(run, trained):
    code, out, err = run("rm", trained[0][:8], trained[2], trained[2], "--yes")
    assert (code, err) == (0, "")
    assert trained[0] in out and trained[2] in out
    assert out.splitlines()[-1] == "deleted 2 runs"
    assert left() == [trained[1]]


def test_runs_are_selected_by_setting_and_status(run, trained):
    code, out, _ = run("rm", "--where", "seed=1", "--status", "done", "--yes", "--json")
    assert code == 0
    assert [r["id"] for r in json.loads(out)] == [trained[1]]
    assert left() == [trained[0], trained[2]]
    assert run("rm", trained[0], "--where", "seed=2", "--yes")[::2] == (0, "no runs\n")
    assert run("rm", "--status", "diverged", "--json")[1] == "[]\n"
    assert left() == [trained[0], trained[2]]


@pytest.mark.parametrize(("answer", "deleted"), [("y\n", 1), ("yes\n", 1), ("n\n", 0), ("\n", 0), ("", 0)])
def test_a_person_is_asked(run, trained, monkeypatch, answer, deleted):
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    code, _, err = run("rm", trained[0])
    assert code == 1 - deleted
    assert err.startswith("Delete 1 run for good? [y/N] ")
    assert len(left()) == 3 - deleted


def test_without_a_terminal_yes_is_required(run, trained, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    code, _, err = run("rm", trained[0])
    assert (code, err) == (2, "--yes: required to delete 1 run: there is no terminal to ask on\n")
    assert len(left()) == 3


def test_a_run_that_is_being_trained_is_refused_and_nothing_is_deleted(run, trained):
    busy = find_run("runs", trained[1])
    with RunFolder.create_or_open("runs", busy.id, busy.config, device="cpu"):
        for words in (("rm", *trained, "--yes"), ("train", *TINY, "--seeds", "3", "--again", "-q")):
            code, _, err = run(*words)
            assert (code, err) == (2, f"run {busy.id} is being trained; nothing was deleted\n")
    assert left() == trained


def test_again_trains_from_scratch_exactly_these_runs(run, trained):
    before = {id: find_run("runs", id) for id in trained}
    code, _, err = run("train", *TINY, "--seeds", "0,2", "--again", "-q")
    assert code == 0
    assert err == "deleted 2 stored runs; training from scratch\n"
    after = {id: find_run("runs", id) for id in trained}
    assert after[trained[1]] == before[trained[1]]
    for id in (trained[0], trained[2]):
        assert after[id].manifest["created"] > before[id].manifest["created"]
        assert (after[id].status, after[id].epoch) == ("done", 10)
        assert read_checkpoint(after[id]).tensors.keys() == read_checkpoint(before[id]).tensors.keys()
    assert run("train", *TINY, "--seeds", "4,", "--again", "-q")[2] == "deleted 0 stored runs; training from scratch\n"


def test_again_deletes_nothing_when_a_setting_is_invalid(run, trained):
    code, _, err = run("train", *TINY, "--again", "--set", "prior.beta=-1")
    assert (code, err) == (2, "prior.beta: -1.0 is below 0\n")
    assert left() == trained


def test_sweep_and_demo_train_again(run, tmp_path, monkeypatch):
    from dataclasses import replace

    from grokscope import demo
    from grokscope.config import Log
    from grokscope.models.transformer import Transformer
    from grokscope.tasks.modular import Modular

    (tmp_path / "grid.toml").write_text(
        'epochs = 5\n[model]\nd = 8\nd_mlp = 8\n[log]\nevery = 5\n[grid]\n"task.p" = [5, 7]\n'
    )
    small = replace(
        demo.BASE, task=Modular(p=7, alphabet=3), model=Transformer(d=8, d_mlp=16), epochs=5, log=Log(every=5)
    )
    monkeypatch.setattr(demo, "BASE", small)
    for words in (("sweep", "grid.toml", "-q"), ("demo", "--seeds", "1", "-q")):
        assert run(*words)[2] == ""
        code, _, err = run(*words, "--again")
        assert code == 0
        assert err.startswith(f"deleted {2 if words[0] == 'sweep' else 3} stored runs")


def test_an_interrupted_retraining_continues_without_again(run, monkeypatch):
    from grokscope.launch import local

    class Interrupted(local.Scheduler):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options | {"interrupted": lambda: True})

    monkeypatch.setattr(local, "Scheduler", Interrupted)
    code, _, err = run("train", *TINY, "--again", "-q")
    assert code == 130
    assert err.splitlines()[-1].endswith("To continue: grokscope train " + shlex.join([*TINY, "-q"]))


def test_what_to_delete_must_be_said(run, trained):
    assert run("rm", "--yes")[::2] == (2, "RUN: name the runs to delete, or select them with --where or --status\n")
    assert run("rm", "--status", "damged", "--yes")[2] == "--status: unknown status 'damged'. Did you mean damaged?\n"
    assert run("rm", "xyz", "--yes")[2].startswith("no run in runs is called 'xyz'. Did you mean ")
    assert run("rm", "--where", "sed=1", "--yes")[2] == "sed: no such setting. Did you mean seed?\n"
    assert left() == trained
