"""A short verdict in words and numbers on three arms: no prior, the oracle prior, the adversarial prior.

Structural inference claims that without a prior a network memorises long before it generalises (§5.1), that a prior on
where to look removes the delay (Thm 5.2), and that a prior on the wrong places lets it memorise but never generalise
(Fig. 2). Each claim is decided from the runs, and each sentence says what was seen, whether or not it is what the
paper says. "Never generalised" is used only for runs that were trained to their last epoch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import pandas as pd

from .censored import unfinished
from .survival import kaplan_meier, sample
from .times import DEFAULT, Criterion

LONG_AFTER = 2.0
"""Generalisation counts as delayed when t_grok is at least this many times t_mem."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """The data of one run that the verdict needs."""

    seed: int
    t_mem: int | None
    t_grok: int | None
    epoch: int
    """Last epoch."""
    test_accuracy: float
    """At the last epoch."""
    status: str
    """done, grokked, diverged, stopped or running."""

    def sooner_than(self, other: Run) -> bool:
        """Whether this run surely grokked before the other, which may not have grokked by its last epoch."""
        end = other.epoch if other.t_grok is None else other.t_grok
        return self.t_grok is not None and self.t_grok < end


def runs_of(table: pd.DataFrame) -> list[Run]:
    """The runs of one arm from a table with the columns seed, t_mem, t_grok, epoch, test_accuracy and status."""

    def whole(value: object) -> int | None:
        return None if pd.isna(value) else int(value)  # type: ignore[call-overload]

    return [
        Run(
            seed=int(row["seed"]),
            t_mem=whole(row["t_mem"]),
            t_grok=whole(row["t_grok"]),
            epoch=int(row["epoch"]),
            test_accuracy=float(row["test_accuracy"]),
            status=row["status"],
        )
        for row in table.to_dict("records")
    ]


@dataclass(frozen=True)
class Verdict:
    """The observations as text, and which of the paper's claims held."""

    sentences: tuple[str, ...]
    claims: dict[str, bool]
    """delayed, oracle_sooner, adversarial_never: whether each held in every seed."""

    @property
    def text(self) -> str:
        return " ".join(self.sentences)

    @property
    def holds(self) -> bool:
        """Whether the whole story held."""
        return all(self.claims.values())


def verdict_in_words(
    no_prior: Sequence[Run], oracle: Sequence[Run], adversarial: Sequence[Run], *, criterion: Criterion = DEFAULT
) -> Verdict:
    """Compare the arms; the same seed in two arms is the same data and the same initial weights.

    criterion   the one that t_mem and t_grok were found by

    delayed             without a prior every seed grokked, at LONG_AFTER times its t_mem or later
    oracle_sooner       with the oracle every seed grokked sooner than the same seed without a prior
    adversarial_never   with the adversarial prior every seed memorised and none grokked, though each was trained to its
                        last epoch, for longer than any seed without a prior took
    """
    if not (no_prior and oracle and adversarial):
        raise ValueError("each arm needs a run")
    plain = {run.seed: run for run in no_prior}
    slowest = max(_grok_times(no_prior), default=0)
    claims = {
        "delayed": all(
            r.t_mem is not None and r.t_grok is not None and r.t_grok >= LONG_AFTER * r.t_mem for r in no_prior
        ),
        "oracle_sooner": all(r.seed in plain and r.sooner_than(plain[r.seed]) for r in oracle),
        "adversarial_never": all(
            r.t_mem is not None and r.t_grok is None and r.status == "done" and r.epoch > slowest for r in adversarial
        ),
    }
    passed = f"test accuracy passed {criterion.percent}"
    sentences = (
        f"Without a prior {_outcome(no_prior, passed)}{_delay(no_prior)}.",
        f"Told where to look {_outcome(oracle, passed)}{_against(oracle, no_prior)}.",
        f"Misled {_misled(adversarial, passed)}{_against(adversarial, no_prior)}.",
    )
    return Verdict(sentences, claims)


def _outcome(runs: Sequence[Run], passed: str) -> str:
    """When test accuracy passed the threshold, in how many seeds."""
    times, typical = _grok_times(runs), _typical(runs)
    if not times:
        return f"it {_never(runs)}"
    late = [run for run in runs if run.t_grok is None]
    rest = (
        f"; not by epoch {_range([run.epoch for run in late])} in the rest{unfinished(run.status for run in late)}"
        if late
        else ""
    )
    if typical is None:
        return f"{passed} in only {_count(times, runs)} (epoch {_range(times)}{rest})"
    spread = f"{_range(times)}, {_count(times, runs)}" if len(times) > 1 else _count(times, runs)
    return f"{passed} at epoch {typical} ({spread}{rest})"


def _misled(runs: Sequence[Run], passed: str) -> str:
    """The same, but memorising without generalising is the point and goes first."""
    if _grok_times(runs):
        return f"it generalised all the same: {_outcome(runs, passed)}"
    memorised = [run.t_mem for run in runs if run.t_mem is not None]
    if not memorised:
        return f"it did not even memorise, and {_never(runs)}"
    seeds = "" if len(memorised) == len(runs) else f" in {_count(memorised, runs)}"
    return f"it memorised{seeds} (epoch {median(memorised):.0f}) but {_never(runs)}"


def _never(runs: Sequence[Run]) -> str:
    accuracies = [100 * run.test_accuracy for run in runs if not math.isnan(run.test_accuracy)]
    accuracy = f"; test accuracy {_range(accuracies, _percent)} %" if accuracies else ""
    never = "never generalised" if all(run.status == "done" for run in runs) else "had not generalised"
    count = _count([], runs) + unfinished(run.status for run in runs)
    return f"{never} by epoch {_range([r.epoch for r in runs])} ({count}{accuracy})"


def _delay(runs: Sequence[Run]) -> str:
    """How long after memorisation, over the seeds that did both."""
    delays = [r.t_grok - r.t_mem for r in runs if r.t_grok is not None and r.t_mem is not None]
    if delays:
        delay = median(delays)
        return f", {delay:.0f} epochs after memorisation" if delay > 0 else ", no later than memorisation"
    if _grok_times(runs):
        return ""
    memorised = [r.t_mem for r in runs if r.t_mem is not None]
    return f", though it memorised at epoch {median(memorised):.0f}" if memorised else ", nor did it memorise"


def _against(runs: Sequence[Run], plain: Sequence[Run]) -> str:
    """How much sooner or later than without a prior, by the medians; a bound where those runs never got so far."""
    mine, theirs = _typical(runs), _typical(plain)
    if mine is None:
        return ""
    if theirs is None:
        end = min(run.epoch for run in plain if run.t_grok is None)
        if end <= mine:
            return ", which is later than the runs without a prior were followed"
        return f", at least {_times(end, mine)} sooner than without a prior"
    if mine == theirs:
        return ", as late as without a prior"
    if mine > theirs:
        return f", {_times(mine, theirs)} later than without a prior"
    sooner = [run.seed for run in runs if any(run.seed == other.seed and run.sooner_than(other) for other in plain)]
    exceptions = f", though in only {_count(sooner, runs)}" if len(sooner) < len(runs) else ""
    return f", {_times(theirs, mine)} sooner than without a prior{exceptions}"


def _times(long: int, short: int) -> str:
    ratio = long / max(short, 1)  # epoch 0 is an evaluation too; counting it as 1 keeps the ratio finite
    return f"{ratio:.1f}×" if ratio >= 1.1 else f"{ratio:.2f}×"


def _grok_times(runs: Sequence[Run]) -> list[int]:
    return [run.t_grok for run in runs if run.t_grok is not None]


def _typical(runs: Sequence[Run]) -> int | None:
    """Kaplan–Meier median epoch; None when the runs did not get that far."""
    value = kaplan_meier(sample([r.t_grok for r in runs], [r.epoch for r in runs])).median.value
    return None if value is None else int(value)


def _count(some: Sequence[int], runs: Sequence[Run]) -> str:
    return f"{len(some)} of {len(runs)} seed{'s' if len(runs) > 1 else ''}"


def _whole(value: float) -> str:
    return f"{value:.0f}"


def _percent(value: float) -> str:
    """Rounded down and finer near the threshold: 98.96 must not read as 99."""
    return f"{math.floor(value * 10) / 10:.1f}" if value > 95 else f"{value:.0f}"


def _range(values: Sequence[float], show: Callable[[float], str] = _whole) -> str:
    low, high = show(min(values)), show(max(values))
    return low if low == high else f"{low}–{high}"
