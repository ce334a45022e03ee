"""A display that fails costs no run."""

from dataclasses import replace

from grokscope.launch.local import train_all
from grokscope.store import read_metrics


class Failing:
    calls = 0

    def update(self, lanes, waiting):
        self.calls += 1
        if self.calls == 2:
            raise KeyError("D")


def test_training_continues_without_a_display_that_failed(tiny, tmp_path, capsys):
    display = Failing()
    configs = [replace(tiny, seed=seed) for seed in range(3)]
    runs = train_all(configs, runs=tmp_path, device="cpu", lanes=1, progress=display)
    assert [(run.status, run.epoch, len(read_metrics(run))) for run in runs] == [("done", 12, 4)] * 3
    assert display.calls == 2
    said = capsys.readouterr().err
    assert said == "the progress display failed (KeyError: 'D'); training continues without it\n"


def test_a_closed_stderr_costs_no_run(tiny, tmp_path, monkeypatch):
    class Closed:
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr("sys.stderr", Closed())
    (run,) = train_all([tiny], runs=tmp_path, device="cpu", progress=Failing())
    assert run.status == "done"
