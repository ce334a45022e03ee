"""Base class of rivals, and what they are given: a configuration whose examples are set aside as in the search, and a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import ConfigError
from ...registry import Registry
from ...run import StoredRun
from ...settings import Settings
from ...store import FINISHED, read_metrics
from ...thresholds import reaches
from ..candidates import Units
from ..training import StoppedError, Train

if TYPE_CHECKING:
    from torch import Tensor

    from ...config import RunConfig
    from ...tasks import Examples

rivals: Registry[type[Rival]] = Registry("rival", "grokscope.searching.rivals")

GENERALISED = 0.99
"""Test accuracy up to which run-steps are counted."""


class Outcome(NamedTuple):
    """What a method found and what it cost."""

    name: str
    support: Units | None
    """Positions that it names; None if it names none."""
    run_steps: int
    """Steps of training, of all its runs."""
    generalised: int | None
    """Run-steps until its test accuracy passed 99 %; None if it never did. Read after the end."""
    test_accuracy: float | None
    """At the end; of the choice with the best validation accuracy, where it makes several."""
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        return self._asdict() | {"support": None if self.support is None else list(self.support)}


class Bout(NamedTuple):
    """One comparison."""

    config: RunConfig
    """Without a prior; its task sets examples aside."""
    budget: int
    """Most run-steps of all runs of a method."""
    k: int | None
    """Size of the support, if it is given to the search as well."""
    runs: Path
    train: Train

    @property
    def epochs(self) -> int:
        """Epochs of one run that spends the whole budget."""
        return max(1, self.budget // self.config.steps_per_epoch)


@dataclass(frozen=True, kw_only=True)
class Rival(Settings):
    """Base of all rivals."""

    def check_config(self, config: RunConfig) -> None:
        """Raise ConfigError if this rival does not apply to a configuration."""

    def compete(self, bout: Bout) -> Outcome:
        """Spend at most the budget. Only training and validation examples may decide anything."""
        raise NotImplementedError


def trained(bout: Bout, configs: Sequence[RunConfig], name: str) -> list[StoredRun]:
    """Runs trained to their last epochs, and no further: other rivals and larger budgets have runs of their own."""
    configs = [replace(config, exact=True) for config in configs]
    stored = {run.id: run for run in bout.train(configs, [name] * len(configs))}
    if any(config.id not in stored or stored[config.id].status not in FINISHED for config in configs):
        raise StoppedError
    return [StoredRun(stored[config.id]) for config in configs]


def outcome_of(name: str, bout: Bout, run: StoredRun, before: int = 0, note: str = "") -> Outcome:
    """What became of one run; its support is where it attends.

    before   run-steps of earlier runs that it needed
    """
    rows = read_metrics(run.info, ("test_accuracy",)).to_pylist()
    steps = bout.config.steps_per_epoch
    epoch = next((row["epoch"] for row in rows if reaches(row["test_accuracy"] or 0.0, GENERALISED)), None)
    return Outcome(
        name=name,
        support=None if run.diverged else attended(run.network().attention(run.split.train), bout.k),
        run_steps=before + run.info.epoch * steps,
        generalised=None if epoch is None else before + epoch * steps,
        test_accuracy=rows[-1]["test_accuracy"],
        note=note or ("diverged" if run.diverged else ""),
    )


def best_of(name: str, bout: Bout, choices: Mapping[str, RunConfig]) -> tuple[Outcome, StoredRun]:
    """The choice with the best validation accuracy, each trained side by side with an equal share of the budget. The run-steps of
    all choices count.

    choices   configurations by what is noted of them, such as "λ = 0.1"
    """
    epochs = max(1, bout.epochs // len(choices))
    runs = trained(bout, [replace(config, epochs=epochs) for config in choices.values()], name)
    best = max(range(len(runs)), key=lambda at: _validated(runs[at]))
    found, steps = outcome_of(name, bout, runs[best]), bout.config.steps_per_epoch

    def spent(until: int) -> int:
        """Run-steps of all choices up to an epoch."""
        return steps * sum(min(run.info.epoch, until) for run in runs)

    note = f"{list(choices)[best]}, best of {len(choices)}" if len(choices) > 1 else next(iter(choices))
    outcome = found._replace(
        run_steps=spent(epochs),
        generalised=None if found.generalised is None else spent(found.generalised // steps),
        note=f"{note}, diverged" if runs[best].diverged else note,
    )
    return outcome, runs[best]


def _validated(run: StoredRun) -> float:
    """Validation accuracy at the last evaluation; a run that diverged comes last."""
    if run.diverged:
        return -1.0
    return float(read_metrics(run.info, ("val_accuracy",)).to_pylist()[-1]["val_accuracy"] or 0.0)


def attended(attention: Tensor, k: int | None) -> Units:
    """The k positions with the largest mean attention; with k unknown, those with at least half of the largest."""
    mean = attention.mean(0)[:-1]
    chosen = mean.topk(min(k, len(mean))).indices if k is not None else (mean >= mean.max() / 2).nonzero().flatten()
    return tuple(sorted(chosen.tolist()))


def require_parity(config: RunConfig, name: str) -> None:
    """Raise ConfigError for other tasks than parity."""
    from ...tasks.parity import Parity

    if type(config.task) is not Parity:
        raise ConfigError("rivals", f"{name} solves task parity only, not {config.task.kind}")


def bits_of(bout: Bout, name: str) -> tuple[Examples, Examples]:
    """Training and validation examples of a parity task."""
    from ...fleet.data import known_examples
    from ...fleet.splits import split_of

    require_parity(bout.config, name)
    seed = bout.config.seed_for("data")
    train, validation, _ = known_examples(bout.config, split_of(bout.config.task, seed).train)
    assert validation is not None
    return train, validation


def parity_outcome(name: str, bout: Bout, support: Units | None, note: str) -> Outcome:
    """The outcome of a method that names a parity without any training."""
    from ...fleet.splits import split_of

    accuracy = None
    if support:
        test = split_of(bout.config.task, bout.config.seed_for("data")).test
        accuracy = float((test.inputs[:, list(support)].sum(1) % 2 == test.labels).float().mean())
    solved = accuracy is not None and reaches(accuracy, GENERALISED)
    return Outcome(name, support, 0, 0 if solved else None, accuracy, note)
