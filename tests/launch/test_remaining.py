"""What is left to train of stored runs when epochs, the stop rule or the log are asked for otherwise than before."""

from dataclasses import replace

import pytest
import torch

from grokscope.config import Log, RunConfig, Stop
from grokscope.errors import StoreError
from grokscope.launch.local import train_all
from grokscope.launch.remaining import remaining, replay
from grokscope.store import RunFolder, read_run
from grokscope.store.layout import label
from grokscope.store.seal import read_sealed_json, sealed_json

SCHEDULE = (0, 5, 10, 15, 20)
GROKKED = {0: 0.1, 5: 0.5, 10: 0.97, 15: 1.0, 20: 1.0}


def rows(accuracies, loss=0.5):
    return [{"epoch": e, "train_loss": loss, "test_accuracy": a} for e, a in accuracies.items()]


@pytest.fixture
def config(tiny):
    return replace(tiny, epochs=20, log=Log(every=5), stop=Stop(accuracy=0.99, window=5))


@pytest.fixture
def store(tmp_path):
    """Store a run with the rows that it would have, without training it."""

    def save(config, accuracies, status, loss=0.5):
        folder = RunFolder.create_or_open(tmp_path, config.id, config.to_dict(), device="cpu")
        with folder:
            epoch = max(accuracies)
            folder.save(epoch, rows(accuracies, loss), {"weight/W": torch.ones(1)}, {}, {}, status=status)
        return tmp_path / config.id

    return save


@pytest.fixture
def ask(tmp_path):
    """What is left, and what is said."""

    def call(*configs):
        lines = []
        return remaining({config.id: config for config in configs}, tmp_path, lines.append), lines

    return call


def test_replayed_rules_say_where_a_run_would_have_ended(config):
    assert replay(config, rows(GROKKED)) == ("grokked", 20, 15)
    assert replay(replace(config, stop=Stop(accuracy=0.9, window=0)), rows(GROKKED)) == ("grokked", 10, 10)
    assert replay(replace(config, epochs=8), rows(GROKKED)) == ("done", 10, None)
    assert replay(replace(config, epochs=99, stop=Stop(accuracy=0.0)), rows(GROKKED)) == (None, 20, 15)
    assert replay(config, rows(GROKKED, loss=float("nan"))) == ("diverged", 0, None)
    assert replay(config, []) == (None, 0, None)


def test_as_stored_there_is_nothing_left(config, store, ask):
    path = store(config, GROKKED, "grokked")
    before = (path / "state.json").read_text()
    assert ask(config) == ([], [])
    assert (path / "state.json").read_text() == before


def test_a_run_that_is_not_stored_is_left(config, ask):
    assert ask(config) == ([config.id], [])


def test_more_epochs_continue_the_stored_run(config, store, ask):
    path = store(config, dict.fromkeys(SCHEDULE, 0.1), "done")
    more = replace(config, epochs=40)
    assert more.id == config.id
    assert ask(more) == ([config.id], [f"run {config.id}: finished before, now continued to epoch 40"])
    info = read_run(path)
    assert (info.status, info.epoch, info.config["epochs"]) == ("stopped", 20, 40)
    assert ask(more) == ([config.id], [])
    assert ask(config) == ([], [])
    assert read_run(path).status == "done"


def test_fewer_epochs_than_it_has_are_said_and_nothing_is_changed(config, store, ask):
    path = store(config, dict.fromkeys(SCHEDULE, 0.1), "done")
    for epochs in (10, 17):
        fewer = replace(config, epochs=epochs)
        assert ask(fewer) == ([], [f"run {config.id}: trained further than requested, returned as stored"])
    assert read_run(path).config["epochs"] == 20


def test_an_unfinished_run_that_has_enough_epochs_is_finished(config, store, ask):
    """Otherwise it would count as stopped for ever."""
    path = store(config, {0: 0.1, 5: 0.1, 10: 0.1}, "stopped")
    assert ask(replace(config, epochs=7))[0] == []
    assert (read_run(path).status, read_run(path).epoch) == ("done", 10)
    assert ask(config)[0] == [config.id]


def test_a_later_stop_rule_continues_a_run_that_grokked(config, store, ask):
    store(config, {e: GROKKED[e] for e in (0, 5, 10, 15)}, "grokked")
    never = replace(config, stop=Stop(accuracy=0.0))
    assert ask(never) == ([config.id], [f"run {config.id}: finished before, now continued to epoch 20"])


def test_an_earlier_stop_rule_does_not(config, store, ask):
    store(config, GROKKED, "grokked")
    earlier = replace(config, stop=Stop(accuracy=0.95, window=5))
    assert ask(earlier) == ([], [f"run {config.id}: trained further than requested, returned as stored"])


def test_a_diverged_run_stays_as_it_is(config, store, ask):
    store(config, {0: 0.1, 5: 0.1}, "diverged", loss=float("nan"))
    assert ask(replace(config, epochs=99, stop=Stop(accuracy=0.0)))[0] == []


def test_other_log_settings_of_a_finished_run_are_not_honoured_and_that_is_said(config, store, ask):
    path = store(config, GROKKED, "grokked")
    closer = replace(config, log=Log(every=1, keep=2))
    said = f"run {config.id}: finished with other log settings; its rows and checkpoints are not changed"
    assert ask(closer) == ([], [said])
    assert read_run(path).config["log"]["every"] == 5


def test_other_log_settings_of_an_unfinished_run_hold_from_now_on(config, store, ask):
    path = store(config, {0: 0.1, 5: 0.1}, "stopped")
    said = f"run {config.id}: its log settings changed; existing rows and checkpoints are not changed"
    assert ask(replace(config, log=Log(every=1))) == ([config.id], [said])
    assert read_run(path).config["log"]["every"] == 1


def test_the_last_epoch_tells_runs_apart_where_the_schedule_depends_on_it(config):
    cosine = replace(config, optim=replace(config.optim, schedule="cosine"))
    assert cosine.id != replace(cosine, epochs=40).id


def test_many_runs_of_one_case_are_one_line(config, store, ask):
    configs = [replace(config, seed=seed) for seed in range(6)]
    for one in configs:
        store(one, dict.fromkeys(SCHEDULE, 0.1), "done")
    left, lines = ask(*(replace(one, epochs=30) for one in configs))
    shown = ", ".join(one.id for one in configs[:4])
    assert left == [one.id for one in configs]
    assert lines == [f"6 runs ({shown}, …): finished before, now continued to epoch 30"]


def test_a_config_that_was_tampered_with_is_refused(config, store, ask):
    path = store(config, {0: 0.1}, "stopped") / "config.json"
    plain = read_sealed_json(path, label(path))
    plain["optim"]["lr"] = 0.5
    path.write_bytes(sealed_json(plain, label(path)))
    assert ask(config) == ([config.id], [])
    with pytest.raises(StoreError, match=r"holds another configuration \(optim.lr is 0.5 there and 0.01 here\)"):
        train_all([config], runs=path.parent.parent, device="cpu")


def test_a_run_stored_before_a_setting_was_added_is_the_same_run(config, store, ask):
    path = store(config, {0: 0.1}, "stopped") / "config.json"
    plain = read_sealed_json(path, label(path))
    for seed in ("data_seed", "init_seed", "order_seed"):
        del plain[seed]
    path.write_bytes(sealed_json(plain, label(path)))
    assert ask(config) == ([config.id], [])
    assert RunConfig.from_dict(read_sealed_json(path, label(path))) == config
