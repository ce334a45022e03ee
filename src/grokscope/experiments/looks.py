"""The looks of an experiment's arms: found once over all of them, so that its pictures agree."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from ..figures.meanings import meanings_by_settings
from ..figures.style import same_looks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..store.results import Results
    from .base import Experiment


def looks_of(experiment: Experiment, results: Results) -> AbstractContextManager[None]:
    """All that is drawn within shows an arm in one colour, also in the pictures of other parts and of some arms only."""
    runs = results.runs
    own = [without_part(str(arm), experiment.parts) for arm in runs["arm"]]
    priors = [str(name) for name in runs if str(name).startswith("prior.")]
    known = [
        {name: value for name, value in zip(priors, row, strict=True) if value == value} for row in runs[priors].values
    ]
    names = dict.fromkeys([*(without_part(arm, experiment.parts) for arm in experiment.arms), *own])
    return same_looks(list(names), meanings_by_settings(own, known))


def without_part(arm: str, parts: Sequence[str]) -> str:
    """q = 16, oracle → oracle, of an experiment with the part q = 16"""
    return next((arm.removeprefix(f"{part}, ") for part in parts if arm.startswith(f"{part}, ")), arm)
