"""What an experiment is: data. Arms are settings on top of a base run; claims are statements with a rule for their verdict."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from ..config import RunConfig, merge, nested
from ..errors import ConfigError, nearest
from ..priors.kl import KL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ..figures import RunCurves

Verdict = Literal["holds", "holds only when", "does not hold", "not decided"]
Scale = Literal["quick", "full"]
Settings = Mapping[str, Any]
Arms = dict[str, dict[str, Any]]
"""Dotted settings by the arm's name."""


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """What a rule says of the runs."""

    verdict: Verdict
    measured: str
    """What was measured, in one sentence with its numbers."""
    when: str = ""
    """The condition, for "holds only when"."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """The same numbers for machines: median, interval, p …"""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement of a paper or of its critics, and how it is decided."""

    name: str
    """A word for links, unique within the experiment."""
    statement: str
    """One sentence."""
    rule: str
    """The rule for the verdict, in words, written before the runs."""
    judge: Callable[[pd.DataFrame], Ruling]
    """The same rule as code; it sees one row a run."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A figure of a paper, or a test of what its critics say."""

    name: str
    paper: str
    title: str
    question: str
    base: RunConfig
    """What all arms have in common, at full size."""
    arms: Mapping[str, Settings]
    """Dotted settings on top of the base, by the arm's name."""
    seeds: int = 5
    quick: Settings = field(default_factory=dict)
    """Settings that make it small enough for two cores; arms come on top."""
    quick_seeds: int = 3
    claims: Sequence[Claim]
    pictures: Mapping[str, Callable[[Sequence[RunCurves]], Figure]]
    """By file name."""

    def configs(self, scale: Scale, seeds: int | None = None) -> list[tuple[str, RunConfig]]:
        """Every arm with every seed."""
        count = seeds or (self.seeds if scale == "full" else self.quick_seeds)
        chosen: list[tuple[str, RunConfig]] = []
        for arm, settings in self.arms.items():
            plain = self.base.to_dict()
            for layer in (self.quick if scale == "quick" else {}, settings):
                plain = merge(plain, nested(dict(layer)))
            config = RunConfig.from_dict(plain).check()
            chosen += [(arm, self._taught(replace(config, seed=seed), chosen)) for seed in range(count)]
        return chosen

    @staticmethod
    def _taught(config: RunConfig, earlier: Sequence[tuple[str, RunConfig]]) -> RunConfig:
        """A teacher named "@arm" is that arm's run with the same seed; its arm stands earlier."""
        prior = config.prior
        if not isinstance(prior, KL) or not prior.teacher.startswith("@"):
            return config
        teachers = {(arm, other.seed): other.id for arm, other in earlier}
        return replace(config, prior=replace(prior, teacher=teachers[prior.teacher[1:], config.seed]))

    def stages(self, configs: Sequence[RunConfig]) -> list[list[RunConfig]]:
        """The runs in the order in which they can be trained: teachers before their students."""
        taught = [config for config in configs if getattr(config.prior, "teacher", "")]
        return [stage for stage in ([c for c in configs if c not in taught], taught) if stage]


_experiments: dict[str, Experiment] = {}


def experiment(**what: Any) -> Experiment:
    """Register an experiment."""
    made = Experiment(**what)
    if made.name in _experiments:
        raise ValueError(f"experiment {made.name} is registered twice")
    _experiments[made.name] = made
    return made


def all_experiments() -> dict[str, Experiment]:
    """Every experiment by name: the papers' figures in their order, then the rest."""
    package = importlib.import_module(__package__)
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
        importlib.import_module(f"{__package__}.{module.name}")
    return dict(sorted(_experiments.items(), key=lambda item: _place(item[0])))


def _place(name: str) -> tuple[bool, str, int, str]:
    """si-fig2 comes before si-fig10, and both before si-dial."""
    found = re.fullmatch(r"(.*-fig)(\d+)(.*)", name)
    return (False, found[1], int(found[2]), found[3]) if found else (True, name, 0, "")


def find_experiment(name: str) -> Experiment:
    known = all_experiments()
    if name not in known:
        raise ConfigError("experiment", f"none is called {name!r}. {nearest(name, known)}")
    return known[name]


def arms_over(setting: str, values: Sequence[Any], label: str = "{}", **others: Any) -> Arms:
    """An arm for each value of one setting; `others` (with __ for dots) are common to them."""
    common = {name.replace("__", "."): value for name, value in others.items()}
    return {label.format(value): {setting: value, **common} for value in values}


def crossed(*factors: Mapping[str, Settings]) -> Arms:
    """Every combination of the factors' levels, named by joining their names."""
    arms: Arms = {"": {}}
    for factor in factors:
        arms = {
            f"{name}, {level}" if name else level: {**settings, **more}
            for name, settings in arms.items()
            for level, more in factor.items()
        }
    return arms
