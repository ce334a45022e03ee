"""Length generalisation (structural inference, App. F.3): accuracy on test sequences of every length from that of training on."""

from __future__ import annotations

import pandas as pd

from ..errors import StoreError
from ..randomness import stream
from ..tasks.table import TableTask
from .base import StoredRun, probes
from .checkpoints import at_least
from .examples import accuracy, in_detail, some


@probes.register("lengths")
def lengths(run: StoredRun) -> pd.DataFrame:
    """Test accuracy of the same operands among more and more distractors, at every checkpoint.

    Columns: `epoch`, `length` (tokens with the query, from that of training to that of the test set) and `accuracy`. The
    longest are the run's own test sequences; there are others if `task.test_distractors` are more than those of training.
    """
    epochs = at_least(run, 1)
    task, seed = run.config.task, run.config.seed_for("data")
    if not isinstance(task, TableTask):
        raise StoreError(f"run {run.id}: lengths needs a task with operands among distractors, and {task.kind} is none")
    train, test = task.sizes
    rows = task.draw(train + test, stream(seed, "split"))[train:]
    sets = {
        task.k + distractors + 1: some(task.examples(rows, distractors, "test", seed))
        for distractors in range(task.distractors, task.distractors_at_test + 1)
    }
    found = []
    for epoch in epochs:
        network = run.network(epoch)
        for length, examples in sets.items():
            right = accuracy(in_detail(network, examples), examples)
            found.append({"epoch": epoch, "length": length, "accuracy": right})
    return pd.DataFrame(found)
