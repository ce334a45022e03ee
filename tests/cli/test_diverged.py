"""Every command on a diverged run: numbers or one clear line, and strict JSON."""

import json
from dataclasses import replace

import pytest

from grokscope.cli.printing import to_json
from grokscope.config import Log
from grokscope.launch import train_all
from grokscope.optim.sgd import SGD
from grokscope.probes import probes
from grokscope.tickets import tickets
from grokscope.tickets.base import FromRun

SMALL = [
    "--set",
    "task.p=7",
    "--set",
    "task.distractors=2",
    "--set",
    "task.alphabet=3",
    "--set",
    "task.train_fraction=0.6",
    "--set",
    "model.d=8",
    "--set",
    "model.d_mlp=16",
    "--set",
    "epochs=10",
    "--set",
    "log.every=5",
    "-q",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("diverged")


@pytest.fixture
def diverged(tiny, folder):
    """The id of a run whose weights are NaN at its only checkpoint; it is trained once."""
    config = replace(tiny, optim=SGD(lr=1e12), epochs=40, log=Log(every=5, keep=5))
    (info,) = train_all([config], runs=folder, device="cpu")
    assert info.status == "diverged"
    return info.id


def strict(text):
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


@pytest.mark.parametrize("name", list(probes.entries()))
@pytest.mark.parametrize("how", [[], ["--json"]])
def test_no_probe_can_be_evaluated_and_each_says_why(diverged, folder, run, name, how):
    expected = f"run {diverged} diverged at epoch 5: its weights are not finite\n"
    assert run("probe", name, diverged, "--runs", folder, *how) == (2, "", expected)


@pytest.fixture(params=[1, 25])
def exploding(request, tiny, folder):
    """A run whose learning rate and weights grow until the loss is not finite, and with evaluations far apart the weights."""
    optim = SGD(lr=1e12, warmup=1e13)
    config = replace(tiny, optim=optim, exact=True, epochs=400, log=Log(every=request.param, keep=request.param))
    (info,) = train_all([config], runs=folder / "exploding", device="cpu")
    assert info.status == "diverged" and info.epoch > 25
    return info


@pytest.mark.parametrize("name", list(probes.entries()))
def test_checkpoints_before_it_are_evaluated_or_it_says_why_not(exploding, folder, run, name):
    code, out, err = run("probe", name, exploding.id, "--runs", folder / "exploding", "--json")
    assert err.startswith(f"run {exploding.id} diverged at epoch {exploding.epoch}") and err.count("\n") == 1
    empty = name in ("mask-entropy", "forecast")  # the run has no mask, and has not memorised: there is nothing to say
    assert code == 2 or bool(strict(out)) is not empty
    if code == 0 and exploding.config["log"]["every"] == 25:
        assert empty or max(row["epoch"] for row in strict(out)) < exploding.epoch
        assert err.endswith(f"checkpoint {exploding.epoch} omitted, its weights are not finite\n")
    assert code == 0 or name in ("compressibility", "progress", "spectra", "features", "shortcut", "neurons"), err


@pytest.mark.parametrize("words", [["audit"], ["show"], ["measure"]])
def test_what_reads_one_run_reads_it(diverged, folder, run, words):
    code, out, err = run(*words, diverged, "--runs", folder)
    assert code == 0, err
    code, out, err = run(*words, diverged, "--runs", folder, "--json")
    assert code == 0, err
    strict(out)


def test_lists_and_pages_show_it(diverged, folder, run, tmp_path):
    code, out, err = run("runs", "--runs", folder)
    assert code == 0 and "diverged" in out
    (row,) = strict(run("runs", "--runs", folder, "--json")[1])
    assert row["status"] == "diverged" and row["t_grok"] is None
    code, out, err = run("report", diverged, "--runs", folder, "-o", "page.html")
    assert code == 0, err
    assert "diverged" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("kind", [kind for kind, ticket in tickets.entries().items() if issubclass(ticket, FromRun)])
@pytest.mark.parametrize("epoch", ["last", "5", "t_grok"])
def test_no_ticket_is_drawn_from_it(diverged, folder, run, kind, epoch):
    before = set(folder.iterdir())
    ticket = [f"--set=ticket.kind={kind}", f"--set=ticket.run={diverged}", f"--set=ticket.epoch={epoch}"]
    expected = f"ticket.run: run {diverged} diverged at epoch 5: it cannot be the origin of a ticket\n"
    assert run("train", *SMALL, *ticket, "--runs", folder) == (2, "", expected)
    assert set(folder.iterdir()) == before


def test_it_teaches_nobody(diverged, folder, run):
    before = set(folder.iterdir())
    teacher = ["--set=prior.target=teacher", f"--set=prior.teacher={diverged}", "--set=prior.beta=0.1"]
    expected = f"prior.teacher: run {diverged} diverged at epoch 5: it cannot be a teacher\n"
    assert run("train", *SMALL, *teacher, "--runs", folder) == (2, "", expected)
    assert set(folder.iterdir()) == before


def test_a_ticket_of_an_epoch_that_was_not_kept_is_refused_before_anything_is_written(tiny, tmp_path, run):
    (info,) = train_all([tiny], runs=tmp_path / "runs", device="cpu")
    ticket = ["--set=ticket.kind=magnitude", f"--set=ticket.run={info.id}", "--set=ticket.epoch=7"]
    expected = f"run {info.id} has no checkpoint of epoch 7, only of 12\n"
    assert run("train", *SMALL, *ticket) == (2, "", expected)
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_json_is_strict():
    import numpy as np

    nan, inf = float("nan"), float("inf")
    found = strict(to_json({"a": [nan, inf, -inf, 1.5], "b": {"c": np.float32("nan")}, "d": np.int64(3), "e": b"\0\1"}))
    assert found == {"a": [None, None, None, 1.5], "b": {"c": None}, "d": 3, "e": "AAE="}
