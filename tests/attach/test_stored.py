"""A watched run on disk: the commands, tables and pages that any run has."""

import json

import pytest
import torch
import torch.nn.functional as F
from networks import MinGPT, batch

import grokscope
from grokscope.errors import StoreError
from grokscope.run.stored import StoredRun

MASK = torch.tensor([True, True, False, False, False])


def train(steps=31, beta=0.3, fail_at=None, **how):
    """A network that learns a few sequences by heart; its test accuracy is made up."""
    torch.manual_seed(how.get("seed", 0))
    model, (tokens, labels) = MinGPT(1), batch()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-2)
    with grokscope.watch(model, informative=MASK, every=5, **how) as scope:
        for step in range(steps):
            if step == fail_at:
                raise ZeroDivisionError("the loader is empty")
            logits = model(tokens)[:, -1]
            loss = F.cross_entropy(logits, labels) + scope.prior(beta)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            right = (logits.argmax(-1) == labels).float().mean()
            scope.step(loss=loss, train_accuracy=right, test_accuracy=lambda: float(scope.steps >= 20), lr=3e-2)
    return scope


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs")
    return path, [train(to=path, name="mine", beta=beta, seed=seed) for beta in (0.0, 0.3) for seed in (0, 1)]


def test_runs_are_listed_with_times(folder):
    path, scopes = folder
    runs = {run.id: run for run in grokscope.list_runs(path)}
    assert set(runs) == {scope.id for scope in scopes} and len(runs) == 4
    for run in runs.values():
        assert run.status == "grokked" and run.epoch == 30
        assert run.summary["t_grok"] == 20 and run.summary["test_accuracy"] == 1.0
        assert run.config["name"] == "mine" and run.config["model"]["class"] == "MinGPT"


def test_the_table_is_that_of_the_scope(folder):
    path, scopes = folder
    table = grokscope.load_runs(path)
    for scope in scopes:
        own = scope.frame()
        stored = table[table["run"] == scope.id].reset_index(drop=True)[list(own.columns)]
        assert list(stored["epoch"]) == list(range(0, 31, 5))
        for column in own:
            left, right = own[column], stored[column]
            assert ((left == right) | (left.isna() & right.isna())).all(), column
    assert {"D", "mass_mean", "grad_M", "grad_logit", "lr", "prior.beta", "seed"} <= set(table)


def test_every_command_reads_them(folder, run):
    path, scopes = folder
    code, out, _ = run("runs", "--runs", path)
    assert code == 0 and all(scope.id in out for scope in scopes) and " beta " in out
    code, out, _ = run("show", scopes[-1].id, "--runs", path)
    assert code == 0 and "Memorisation" in out and "positions 0 1" in out
    code, out, err = run("check", "--runs", path)
    assert code == 0 and "4 runs checked, none damaged" in out and not err
    code, out, err = run("report", "--runs", path, "-o", path / "page.html")
    assert code == 0 and not err
    page = (path / "page.html").read_text(encoding="utf-8")
    assert "β = 0.3" in page and page.count("<figure") == 5 and "The prior in its first step." in page
    code, out, _ = run("runs", "--runs", path, "--where", "prior.beta=0.3", "--json")
    assert code == 0 and len(json.loads(out)) == 2
    code, _, err = run("probe", "spectra", scopes[0].id, "--runs", path)
    assert code != 0 and "trained by a program of its own" in err


def test_its_network_cannot_be_rebuilt(folder):
    path, scopes = folder
    with pytest.raises(StoreError, match="cannot be rebuilt"):
        _ = StoredRun.find(path, scopes[0].id).config


def test_pages(folder, tmp_path):
    _, scopes = folder
    own, everything = (
        scopes[-1].report(tmp_path / "own.html"),
        scopes[-1].report(tmp_path / "all.html", everything=True),
    )
    assert own.read_text("utf-8").count(scopes[-1].id) >= 1 and scopes[0].id not in own.read_text("utf-8")
    assert all(scope.id in everything.read_text("utf-8") for scope in scopes)


def test_a_page_without_a_folder(tmp_path):
    scope = train(steps=11)
    assert scope.id is None and len(scope.rows) == 3
    assert "<figure" in scope.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert list(scope.frame()["epoch"]) == [0, 5, 10]


def test_a_stored_run_is_not_overwritten(tmp_path):
    first = train(steps=6, to=tmp_path)
    with pytest.raises(StoreError, match=r"again=True replaces it"):
        train(steps=6, to=tmp_path)
    assert len(grokscope.list_runs(tmp_path)) == 1
    assert train(steps=11, to=tmp_path, again=True).id == first.id
    assert train(steps=6, to=tmp_path, settings={"lr": 1e-3}).id != first.id
    assert sorted(run.epoch for run in grokscope.list_runs(tmp_path)) == [5, 10]


def test_an_error_in_the_loop_fails_the_run_and_keeps_its_rows(tmp_path):
    with pytest.raises(ZeroDivisionError):
        train(to=tmp_path, fail_at=13)
    (run,) = grokscope.list_runs(tmp_path)
    assert run.status == "failed" and run.epoch == 10
    assert list(grokscope.load_runs(tmp_path)["epoch"]) == [0, 5, 10]


def test_an_interrupt_stops_the_run(tmp_path):
    model = MinGPT(1)
    with pytest.raises(KeyboardInterrupt), grokscope.watch(model, informative=MASK, to=tmp_path) as scope:
        model(batch()[0]).sum().backward()
        scope.step(train_loss=1.0)
        raise KeyboardInterrupt
    assert [run.status for run in grokscope.list_runs(tmp_path)] == ["stopped"]
    assert not model._forward_hooks


def test_a_loss_that_is_not_finite_is_divergence(tmp_path):
    model = MinGPT(1)
    with grokscope.watch(model, informative=MASK, to=tmp_path, every=1) as scope:
        for loss in (1.0, float("nan")):
            model(batch()[0]).sum().backward()
            scope.step(train_loss=loss)
    assert [run.status for run in grokscope.list_runs(tmp_path)] == ["diverged"]


def test_functions_are_called_only_for_rows():
    calls = []
    model = MinGPT(1)
    with grokscope.watch(model, informative=MASK, every=3) as scope:
        for _ in range(7):
            model(batch()[0]).sum().backward()
            assert scope.due == (scope.steps % 3 == 0)
            scope.step(train_loss=1.0, test_accuracy=lambda: calls.append(scope.steps) or 0.5)
    assert calls == [0, 3, 6] and [row["test_accuracy"] for row in scope.rows] == [0.5] * 3


def test_an_id_is_a_function_of_the_settings(tmp_path):
    one = train(steps=1, to=tmp_path / "a", settings={"lr": 1e-3})
    two = train(steps=1, to=tmp_path / "b", settings={"lr": 1e-3})
    assert one.id == two.id and len(one.id) == 12
    assert [run.problem for run in grokscope.list_runs(tmp_path / "a")] == [""]


def test_rows_are_seen_before_they_are_saved(tmp_path, monkeypatch):
    from grokscope.attach import storing
    from grokscope.store import Follower

    monkeypatch.setattr(storing, "APPEND_EVERY", -1.0)
    stored = storing.Stored(tmp_path, {"kind": "watched", "name": "mine"}, device="cpu")
    row = {"epoch": 1, "seconds": 0.5, "train_loss": 1.0, "train_accuracy": 0.5, "test_accuracy": 0.25}
    stored.add(row)
    follower = Follower(stored.path)
    follower.poll()
    assert (follower.info.epoch, follower.columns["test_accuracy"].tolist()) == (0, [0.25])
    stored.add({**row, "epoch": 2})
    stored.finish()
    follower.poll()
    assert (follower.info.epoch, follower.columns["epoch"].tolist()) == (2, [1, 2])


def test_pictures_know_the_informative_positions(folder):
    from grokscope.report.runs import curves_of

    path, scopes = folder
    (curves,) = curves_of([grokscope.find_run(path, scopes[0].id)], ["mine"])
    assert list(curves.positions) == [f"position {place}" for place in range(5)] and list(curves.informative) == [0, 1]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ({"informative": "positions 0 3", "query": "-1"}, [0, 3]),
        ({"informative": "positions 0 3", "query": "2"}, []),
        ({"informative": "a function of the batch", "query": "-1"}, []),
        ({}, []),
    ],
)
def test_positions_are_known_only_where_they_are_the_same_in_every_sequence(tokens, expected):
    from grokscope.config.watched import informative_positions

    assert informative_positions({"tokens": tokens}) == expected
