"""The ledger of claims, rebuilt from stored results without training: one row per claim, its cases with effects and intervals."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control

from ..errors import StoreError
from ..helpers import cores, helpers
from ..store.results import Results, load_results
from . import diverged
from .base import Case, Claim, Effect, Experiment, Ruling, Scale, all_experiments
from .clauses import finite
from .clocks import NotRunError
from .collect import training_totals
from .frozen import RULES, made_from, provenance, rule_hash, rule_hashes
from .regimes import regime_of
from .settle import judge

NEEDED = ("run", "arm", "seed", "t_first_99", "t_stable_95")
"""Columns without which stored results are older than the rules."""
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
"""Where a function lies in memory."""
MANY = 12
"""Experiments from which several processes judge them: starting one takes as long as judging some."""
STALE = "stale: the rule is not the one that was frozen before these runs; to be run again"


Watched = Callable[[Iterable[Any], int], Iterable[Any]]
"""The same things one by one, of which there are so many: how a caller shows progress."""


def unwatched(them: Iterable[Any], count: int) -> Iterable[Any]:
    """Show no progress."""
    return them


class Ledger(NamedTuple):
    """The stored results of all experiments at one scale."""

    scale: Scale
    found: list[tuple[Experiment, Results]]
    """In the order of the experiments."""
    stale: list[str]
    """Experiments whose stored results have other arms, probes, columns or rules than they have now; to be run again."""
    damaged: dict[str, str] = MappingProxyType({})  # type: ignore[assignment]
    """What is wrong with stored results that cannot be read, by experiment; they are omitted."""

    def rows(self, folder: Path | None = None, watched: Watched = unwatched) -> list[dict[str, Any]]:
        """Every claim; with q, its p after control of the false-discovery rate over the ledger (Benjamini & Hochberg 1995). No
        verdict depends on q.

        folder    where the results were read: if there are many, other processes read them too and share the work
        watched   shows how many experiments are judged
        """
        known = _judged_elsewhere(folder, self, watched) if folder and len(self.found) >= MANY and cores() > 1 else {}
        found = self.found if known else watched(self.found, len(self.found))
        rows = [row for one, results in found for row in known.get(one.name) or _judged(one, results)]
        tested = [row for row in rows if row["p"] is not None]
        if tested:
            for row, q in zip(tested, false_discovery_control([row["p"] for row in tested]), strict=True):
                row["q"] = float(q)
        return rows

    def totals(self) -> dict[str, Any]:
        """Distinct runs, their optimizer steps, and the seconds of these; a run shared by several experiments counts once."""
        empty = pd.DataFrame(columns=["run", "steps", "step_seconds"])
        return training_totals(pd.concat([results.runs for _, results in self.found]) if self.found else empty)

    def summary(self) -> str:
        """How many runs and steps the claims rest on, in one sentence."""
        total = self.totals()
        names = dict.fromkeys(results.about["device"] for _, results in self.found)
        devices = " and ".join("a CPU" if name == "cpu" else name for name in names)
        count = f"{len(self.found)} experiment{'s' * (len(self.found) != 1)}"
        return (
            f"{count} at {self.scale} size: {total['runs']:,} runs, {total['run_steps']:,} optimizer steps "
            f"in {total['seconds']:,.0f} seconds of training on {devices or 'no device'}."
        )


def load_ledger(folder: Path, scale: Scale, names: Collection[str] | None = None) -> Ledger:
    """Read the stored results of all experiments, or of those named, at one scale. Those that cannot be read do not hide the
    others."""
    ledger = Ledger(scale, [], [], {})
    for experiment in all_experiments().values():
        if names is not None and experiment.name not in names:
            continue
        try:
            results = load_results(folder, experiment.name, scale)
        except StoreError as error:
            ledger.damaged[experiment.name] = str(error)
            continue
        if results is not None and fits(experiment, results):
            ledger.found.append((experiment, results))
        elif results is not None:
            ledger.stale.append(experiment.name)
    return ledger


def _judged(experiment: Experiment, results: Results) -> list[dict[str, Any]]:
    frozen = results.about.get(RULES, {})
    stale = {name for name, own in rule_hashes(experiment).items() if own != frozen.get(name)}
    return rulings(experiment, results, stale)


def _judged_elsewhere(folder: Path, ledger: Ledger, watched: Watched) -> dict[str, list[dict[str, Any]]]:
    """The rows by experiment, without those that another process does not know; none where processes cannot be started, as from
    a script that does not guard what it runs by its `__name__`."""
    # those with most to judge first: one that begins last would be waited for
    most = sorted(ledger.found, key=lambda one: len(one[1].runs) * len(one[0].claims), reverse=True)
    names = [experiment.name for experiment, _ in most]
    asked = [(folder, ledger.scale, name) for name in names]
    with suppress(BrokenProcessPool), helpers(cores()) as pool:
        return dict(zip(names, watched(pool.map(_judge_stored, asked), len(names)), strict=True))
    return {}


def _judge_stored(one: tuple[Path, Scale, str]) -> list[dict[str, Any]]:
    folder, scale, name = one
    return [row for own in load_ledger(folder, scale, [name]).found for row in _judged(*own)]


def fits(experiment: Experiment, results: Results) -> bool:
    """Whether stored results belong to this experiment as it is now: same arms, all its columns, probes and prices, and the rule of
    at least one claim."""
    if not set(NEEDED) <= set(results.runs.columns):
        return False
    arms = {*results.runs["arm"], *results.about.get(diverged.NOT_TRAINED, [])}
    frozen = results.about.get(RULES, {})
    return (
        arms == set(experiment.arms_at(results.about["scale"]))
        and (not experiment.priced or "seconds_per_epoch" in results.runs)
        and set(experiment.probes) <= set(results.probes)
        and any(own == frozen.get(name) for name, own in rule_hashes(experiment).items())
    )


def rulings(experiment: Experiment, results: Results, stale: Collection[str] = ()) -> list[dict[str, Any]]:
    """One row per claim.

    stale   claims that are not judged, since their rules are not those that were frozen before the runs
    """
    rows = []
    note = diverged.note(results)
    notes = [one for one in (note, *_outdated(experiment, results), made_from(results.about)) if one]
    for claim in experiment.claims:
        old = claim.name in stale
        ruling = Ruling(verdict="not tested", measured=STALE) if old else _ruling(claim, results, note)
        rows.append(
            {
                "id": f"{experiment.name}/{claim.name}",
                "paper": experiment.paper,
                "experiment": experiment.name,
                "claim": claim.name,
                "of": claim.of,
                "statement": claim.statement,
                "reported": claim.reported,
                "verdict": ruling.verdict,
                "when": ruling.when,
                "remark": claim.remark,
                "cases": [_case(case) for case in ruling.cases],
                "p": ruling.p,
                "q": None,
                "test": ruling.test,
                "measured": "\n".join([ruling.measured, *(one for one in notes if one not in ruling.measured)]),
                "rule": claim.text,
                "rule_code": ADDRESS.sub("", repr(claim.rule)),
                "rule_hash": rule_hash(claim),
                "stale": old,
                "settings": experiment.settings,
                "differs": experiment.differs,
                "scale": results.about["scale"],
                "made_from": provenance(results.about),
                "runs": len(results.runs),
                "seeds": int(results.runs["seed"].nunique()) if "seed" in results.runs else None,
                "seeds_per_arm": _seeds_per_arm(results),
                "epochs": horizons(results),
            }
        )
    return rows


def _seeds_per_arm(results: Results) -> list[int]:
    """How many seeds arms have, each number once, ascending."""
    runs = results.runs
    return sorted({int(n) for n in runs.groupby("arm")["seed"].nunique()}) if "seed" in runs else []


def horizons(results: Results) -> list[int]:
    """After how many epochs runs end at the latest, each number once, ascending."""
    return sorted({int(epochs) for epochs in results.runs["epochs"].dropna()}) if "epochs" in results.runs else []


def _outdated(experiment: Experiment, results: Results) -> list[str]:
    """Lines about what the experiment asks for by now and the results do not have."""
    return [_missing_seeds(experiment, results), _other_epochs(experiment, results)]


def _other_epochs(experiment: Experiment, results: Results) -> str:
    """A line about arms whose runs had another number of epochs than the experiment has now."""
    if "epochs" not in results.runs or experiment.prepare:
        return ""
    scale, there = results.about["scale"], results.runs.groupby("arm")["epochs"].max()
    usual = experiment.quick.get("epochs", experiment.base.epochs) if scale == "quick" else experiment.base.epochs
    asked = {arm: own.get("epochs", usual) for arm, own in experiment.arms_at(scale).items() if arm in there}
    other = {(there[arm], epochs) for arm, epochs in asked.items() if there[arm] != epochs}
    return "; ".join(
        f"judged after {own:,} of {now:,} epochs: the others are not run yet" for own, now in sorted(other)
    )


def _missing_seeds(experiment: Experiment, results: Results) -> str:
    """A line about seeds that the experiment asks for and the results do not have."""
    if "seed" not in results.runs:
        return ""
    scale, there = results.about["scale"], results.runs.groupby("arm")["seed"].nunique()
    short = {
        (there[arm], asked)
        for arm in experiment.arms_at(scale)
        if arm in there
        if there[arm] < (asked := experiment.seeds_at(scale, arm))
    }
    return "; ".join(f"judged with {own} of {asked} seeds: the others are not run yet" for own, asked in sorted(short))


def _case(case: Case) -> dict[str, Any]:
    """A case for JSON."""
    return {
        "name": case.name,
        "regime": regime_of(case.name) or None,
        "verdict": case.verdict,
        "effects": [_effect(effect) for effect in case.effects],
        "p": case.p,
        "p_for": case.p_for,
        "p_against": case.p_against,
        "seeds": case.seeds,
        "simulated": case.simulated._asdict() if case.simulated else None,
        "asked": case.asked,
        "blocked": case.blocked,
        "note": case.note,
        "measured": case.measured,
        "numbers": dict(case.numbers),
    }


def _effect(effect: Effect) -> dict[str, Any]:
    low, value, high = (finite(x) for x in (effect.low, effect.value, effect.high))
    ends = {"value": value, "low": low, "high": high}
    return {"name": effect.name, "of": effect.of, **ends, "numbers": effect.numbers, "text": str(effect)}


def _ruling(claim: Claim, results: Results, note: str) -> Ruling:
    """The verdict; "cannot be told", with the reason, where diverged runs leave the rule without numbers."""
    try:
        return judge(claim, results)
    except NotRunError as missing:
        return Ruling(verdict="not tested", measured=note or f"not run at {results.about['scale']} size: {missing}")
    except Exception as error:  # rules are code of many kinds: what they do without their numbers is not known here
        if not note:
            raise
        reason = f"the rule cannot be applied ({type(error).__name__}); {note}"
    return Ruling(verdict="cannot be told", measured=reason)


def decided(row: dict[str, Any]) -> bool:
    """Whether a verdict of the ledger also stands at a false-discovery rate of 5 %."""
    return bool(row["q"] is not None and np.isfinite(row["q"]) and row["q"] < 0.05)
