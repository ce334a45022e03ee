"""One experiment per track: every method with the settings that tuning has chosen, on fresh seeds.

The arms are known before anything is tuned, and so are the rules; the settings of the arms are read from the table that
`grokscope race` leaves in the folder of results (`tuned.json`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import ConfigError
from ...experiments.base import Claim, Experiment, Scale, experiment
from ...experiments.clocks import Clock
from ...experiments.rules import Fastest, InEach, Rule, Sooner, WithinRange
from ...race.clocks import FIRST, FIRST_SECONDS, STABLE
from ...race.methods.base import Method, methods_on
from ...race.tracks.base import SIZES, Track, tracks
from ...store.tuned import load_tuned
from .collected import COLLECTED

BASELINE = "AdamW"
TUNED = "Settings are the best of 64 draws per method on tuning seeds; these are fresh ones. "
DIFFERS = (
    "Settings are tuned for each method on tuning seeds 1000 … 1003: 64 log-uniform draws on one seed, the four earliest on "
    "three more. The search takes the settings of AdamW."
)
CHOU = 111
"""Epochs to 100 % test accuracy with tuned AdamW (Chou 2025, two hidden layers, p = 113, fraction 0.4, full batch)."""


def prepared(track: Track, own: Experiment, results: Path, scale: Scale) -> Experiment:
    """The experiment with the settings that were found; ConfigError where methods are not tuned yet."""
    table = load_tuned(results, track.experiment, scale)
    methods, _ = methods_on(track.base(scale))
    arms, missing = {}, []
    for name, one in methods.items():
        if one.title not in own.arms:
            continue
        found = table.get(one.inherits or name)
        if found is None:
            missing.append(name)
            continue
        arms[one.title] = {**found["settings"], **one.settings} if one.inherits else dict(found["settings"])
    if missing:
        option = " --full" if scale == "full" else ""
        raise ConfigError(own.name, f"not tuned yet: {', '.join(missing)}; run grokscope race {track.kind}{option}")
    return replace(own, arms=arms, quick_arms=None if scale == "full" else {arm: {} for arm in arms})


def _each(arms: list[str], clock: Clock) -> Rule:
    return InEach({arm: Sooner(arm, BASELINE, clock) for arm in arms})


def _claims(track: Track, methods: dict[str, Method]) -> list[Claim]:
    arms = [one.title for one in methods.values()]
    reported = [one.title for one in methods.values() if one.control is not None]
    others = [arm for arm in arms if arm not in (*reported, BASELINE)]
    paired = "For each method, paired by seed (permutation test, Holm's correction over the methods): "
    claims = [
        Claim(
            name="sooner",
            statement="Each reported accelerator reaches 99 % in fewer steps than AdamW that is tuned with the same budget.",
            rule=_each(reported, FIRST),
            of="ours",
            text=f"{TUNED}{paired}first crossing of 99 %, in steps.",
        ),
        Claim(
            name="sooner-stable",
            statement="Each reported accelerator reaches 99 % that lasts in fewer steps than AdamW tuned with the same budget.",
            rule=_each(reported, STABLE),
            of="ours",
            text=f"{TUNED}{paired}steps from which 99 % is never lost again.",
        ),
        Claim(
            name="sooner-in-seconds",
            statement="Each reported accelerator reaches 99 % in less time than AdamW that is tuned with the same budget.",
            rule=_each(reported, FIRST_SECONDS),
            of="ours",
            text=f"{TUNED}{paired}first crossing of 99 %, in seconds of a run that has the device to itself.",
        ),
        Claim(
            name="others",
            statement="Each other method (larger decay, SGD, Lion, noise on the weights, uniform attention, a search) reaches 99 % "
            "in fewer steps than AdamW that is tuned with the same budget.",
            rule=_each(others, FIRST),
            text=f"{TUNED}{paired}first crossing of 99 %, in steps; those of all candidates count for the search.",
            of="ours",
        ),
    ]
    told = [one.title for one in methods.values() if one.told]
    hard = getattr(track.task, "distractors", 0) and getattr(track.task, "alphabet", 1) != 1
    if told and hard:
        families: dict[str, Any] = {arm: [arm] for arm in arms}
        for name, clock, words in (("told", FIRST, "first crossing of 99 %"), ("told-stable", STABLE, "stable 99 %")):
            claims.append(
                Claim(
                    name=name,
                    statement="No accelerator is as fast as the oracle prior, which is told which tokens matter.",
                    rule=Fastest(told[0], families, clock),
                    text=f"{TUNED}Paired by seed, the oracle prior takes fewer steps than each other method ({words}).",
                    of="ours",
                )
            )
    if track.kind == "A":
        claims.append(
            Claim(
                name="tuned-adamw",
                statement="Tuned AdamW generalises at epoch 111 (one-hot MLP with two hidden layers).",
                rule=WithinRange(FIRST, BASELINE, 0, 1.25 * CHOU),
                text=f"{TUNED}The median of the first crossings of 99 % is at most 1.25 × 111 steps.",
                reported="100 % at epoch 111, the best of a grid (Chou 2025)",
            )
        )
    return claims


def register(track: Track) -> Experiment:
    """The experiment of a track."""
    methods, _ = methods_on(track.base())
    full, quick = SIZES["full"], SIZES["quick"]
    return experiment(
        name=track.experiment,
        paper="race",
        title=f"Race {track.kind}: {track.title}",
        question="Which method reaches 99 % test accuracy first, if all are tuned with the same budget?",
        base=track.base(),
        arms={one.title: one.middle() for one in methods.values()},
        seeds=full.seeds,
        quick=dict(track.quick),
        quick_seeds=quick.seeds,
        claims=_claims(track, methods),
        pictures={"leaderboard": "race-leaderboard"},
        collected=COLLECTED,
        priced=True,
        counted=True,
        prepare=lambda own, results, scale: prepared(track, own, results, scale),
        differs=DIFFERS,
    )


for _name in sorted(tracks.entries()):
    register(tracks.get(_name)())
