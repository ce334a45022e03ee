"""Asking again for a stored run in another way: more epochs, another stop rule, several wishes at once."""

import json
from dataclasses import replace

import torch

from grokscope.config import Log, Stop
from grokscope.launch.local import train, train_all
from grokscope.launch.sink import RunWriter
from grokscope.priors.kl import KL
from grokscope.store import RunFolder, kept_epochs, read_checkpoint, read_metrics


def epochs_of(run):
    return read_metrics(run).column("epoch").to_pylist()


def weights_of(run, epoch=None):
    return {n: t for n, t in read_checkpoint(run, epoch).tensors.items() if n.startswith("weight/")}


def test_more_epochs_continue_a_finished_run_as_if_it_had_never_ended(tiny, tmp_path, capsys):
    (first,) = train(tiny, runs=tmp_path / "a")
    (more,) = train(replace(tiny, epochs=24), runs=tmp_path / "a")
    (whole,) = train(replace(tiny, epochs=24), runs=tmp_path / "b")
    assert capsys.readouterr().err == f"run {first.id}: finished before, now continued to epoch 24\n"
    assert more.id == first.id == whole.id
    assert (more.status, more.epoch, more.config["epochs"]) == ("done", 24, 24)
    assert epochs_of(more) == [0, 5, 10, 12, 15, 20, 24]
    assert epochs_of(whole) == [0, 5, 10, 15, 20, 24]
    torch.testing.assert_close(weights_of(more), weights_of(whole))
    assert kept_epochs(more) == [12, 24]


def test_fewer_epochs_return_the_run_as_stored(tiny, tmp_path, capsys):
    (first,) = train(tiny, runs=tmp_path)
    (again,) = train(replace(tiny, epochs=6), runs=tmp_path)
    assert again == first
    assert capsys.readouterr().err == f"run {first.id}: trained further than requested, returned as stored\n"


def test_a_run_that_was_stopped_early_goes_on_under_another_rule(tiny, tmp_path):
    early = replace(tiny, stop=Stop(accuracy=0.01, window=0), epochs=20)
    (first,) = train(early, runs=tmp_path)
    assert first.status == "grokked"
    assert first.epoch < 20
    (more,) = train(replace(early, stop=Stop(accuracy=0.0)), runs=tmp_path)
    assert (more.id, more.epoch, more.config["stop"]["accuracy"]) == (first.id, 20, 0.0)


def test_the_new_log_holds_from_where_the_run_goes_on(tiny, tmp_path):
    train(tiny, runs=tmp_path)
    (more,) = train(replace(tiny, epochs=20, log=Log(every=2, keep=4)), runs=tmp_path)
    assert epochs_of(more) == [0, 5, 10, 12, 14, 16, 18, 20]
    assert kept_epochs(more) == [12, 16, 20]


def test_a_new_stop_rule_counts_the_rows_that_are_there(tiny, tmp_path):
    strict = replace(tiny, stop=Stop(accuracy=0.99))
    accuracies = {0: 0.1, 5: 0.92, 10: 0.93}
    rows = [
        {"epoch": e, "seconds": 0.0, "train_loss": 0.1, "train_accuracy": 1.0, "test_accuracy": a}
        for e, a in accuracies.items()
    ]
    with RunFolder.create_or_open(tmp_path, strict.id, strict.to_dict(), device="cpu") as folder:
        folder.save(10, rows, {"weight/W": torch.ones(1)}, {"held_since": None, "seconds": 0.0}, {})
    sink = RunWriter(tmp_path, replace(strict, stop=Stop(accuracy=0.9)), "cpu")
    saved = sink.resume()
    sink.close()
    assert saved[1] == {"held_since": 5, "seconds": 0.0}


def test_several_wishes_for_one_run_are_all_met(tiny, tmp_path):
    wishes = [replace(tiny, epochs=10, log=Log(every=4)), replace(tiny, epochs=20, log=Log(every=6, keep=12))]
    (run,) = train_all(wishes, runs=tmp_path)
    assert (run.epoch, run.status) == (20, "done")
    assert epochs_of(run) == list(range(0, 21, 2))
    assert kept_epochs(run) == [12, 20]


def test_a_run_keeps_to_the_teacher_it_began_with(tiny, tmp_path):
    """The teacher is trained further in between; its checkpoint of before is kept."""

    def student_of(teacher):
        return replace(tiny, seed=4, prior=KL(beta=1.0, target="teacher", teacher=teacher.id), epochs=6)

    (teacher,) = train(tiny, runs=tmp_path / "a")
    student = student_of(teacher)
    train(student, runs=tmp_path / "a")
    train(replace(tiny, epochs=60), runs=tmp_path / "a")
    (resumed,) = train(replace(student, epochs=12), runs=tmp_path / "a")
    train(tiny, runs=tmp_path / "b")
    (whole,) = train(replace(student, epochs=12), runs=tmp_path / "b")
    assert json.loads((resumed.path / "manifest.json").read_text())["teacher_epoch"] == 12
    torch.testing.assert_close(weights_of(resumed), weights_of(whole))
