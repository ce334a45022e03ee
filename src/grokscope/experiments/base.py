"""What an experiment is: data. Arms are settings on top of a base run; claims are statements with a rule for their verdict."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from ..config import RunConfig, merge, nested
from ..config.references import REFERENCES, referred
from ..errors import ConfigError, nearest
from ..limits import check_count
from ..registry import import_tree
from ..settings import require
from .collected import training

if TYPE_CHECKING:
    from pathlib import Path

    from ..figures.registry import Draw
    from .settle import Rule

Verdict = Literal["agrees", "agrees in part", "disagrees", "cannot be told", "not tested"]
"""What our runs say about a claim."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
Scale = Literal["quick", "full"]
Overrides = Mapping[str, Any]
"""Dotted settings on top of a run's own, e.g. {"task.p": 97}."""
HOME = "grokscope.papers"
"""The package that holds the experiments; they are found by name, since the framework does not import them."""
PAPERS = ("structural-inference", "grokking-tickets", "inductive-bias")
"""The papers, in the order in which their experiments are listed."""
Arms = dict[str, dict[str, Any]]
"""Dotted settings by the arm's name."""


class Effect(NamedTuple):
    """How large something is, with its 95 % interval; NaN and infinite ends where the runs do not bound it."""

    name: str
    """In words: time ratio, difference of shares …"""
    value: float
    low: float
    high: float
    percent: bool = False
    of: str = ""
    """The arm that it belongs to, where a case has several or does not name it."""

    @property
    def bounded(self) -> bool:
        """Whether the runs say anything about it."""
        return not (np.isnan(self.value) or (self.low <= 0 and self.high == np.inf))

    @property
    def numbers(self) -> str:
        """`0.42 (0.31 to 0.55)`"""
        ends = (self.value, self.low, self.high)
        value, low, high = (f"{100 * x:.0f} %" if self.percent and np.isfinite(x) else _short(x) for x in ends)
        return f"{value} ({low} to {high})"

    def __str__(self) -> str:
        """`time ratio = 0.42 (0.31 to 0.55)`, `q = 16: share = 12 % (3 % to 32 %)`"""
        return (f"{self.of}: " if self.of else "") + f"{self.name} = {self.numbers}"


def _short(value: float) -> str:
    if np.isnan(value):
        return "unknown"
    return f"{value:,.0f}" if 1000 <= abs(value) < np.inf else f"{value:.3g}".replace("inf", "∞")


class Simulated(NamedTuple):
    """Shares of simulated tables in which a rule agrees, at the number of seeds that it had."""

    size: float
    """Where the claim is just false."""
    power: float
    """Where it is true by the effect `at`."""
    at: str

    def __str__(self) -> str:
        return f"size {100 * self.size:.1f} %, power {100 * self.power:.0f} % at {self.at} (simulated)"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One regime or comparison of a claim: effects with intervals, and two one-sided tests that decide it.

    p_for       of the hypothesis that the claim is false: small lets the runs agree
    p_against   of the hypothesis that the claim is true: small lets them disagree
    least       the smallest p_for that so many runs can give

    Each is tested at 2.5 %, which is where a 95 % interval ends, after Holm's correction over the cases of the claim. A case that
    no test decides gives its `verdict` itself.
    """

    name: str = ""
    p_for: float = 1.0
    p_against: float = 1.0
    least: float = 0.0
    effects: Sequence[Effect] = ()
    """The one that decides first; a settled case has those that the runs do not bound last."""
    measured: str = ""
    """The arms in words."""
    test: str = ""
    seeds: int = 0
    """Independent units: pairs of seeds, runs, clusters."""
    asked: tuple[float, float] | None = None
    """The range that the statement asks for, of rules about ranges."""
    blocked: str = ""
    """Why it cannot be told, or is not tested, whatever the p values are."""
    untested: str = ""
    """Why the runs cannot answer it at all: it is "not tested", though it counts in Holm's correction as before."""
    note: str = ""
    """How little its verdict says, or why its effects seem to say more; set by `rules.settle`."""
    verdict: Verdict | None = None
    p: float | None = None
    """Two-sided, after Holm's correction within the claim; set by `rules.settle`."""
    simulated: Simulated | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """Further numbers for programs."""


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """The verdict of a rule on the runs, and what it rests on."""

    verdict: Verdict
    cases: Sequence[Case] = ()
    measured: str = ""
    """What was measured, with its numbers: one line per case."""
    test: str = ""
    """How the numbers were turned into the verdict."""
    when: str = ""
    """Which cases have which verdict, where they differ."""

    @property
    def p(self) -> float | None:
        """The corrected p of the case that decides: of a claim that agrees in every case the largest, of one that agrees in part
        or disagrees the smallest of the cases that say so."""
        says = "agrees" if self.verdict == "agrees in part" else self.verdict
        deciding = [case.p for case in self.cases if case.p is not None and case.verdict == says]
        return (max if self.verdict == "agrees" else min)(deciding, default=None)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement of a paper, of its critics or of ours, as its author says it, and how it is decided."""

    name: str
    """A word for links, unique within the experiment."""
    statement: str
    """One sentence; never the negation of what its author says."""
    rule: Rule
    """Decides it; see `experiments.rules`."""
    text: str
    """The rule in words, written before the runs."""
    reported: str = ""
    """The paper's own number, where it gives one."""
    of: Literal["paper", "critic", "ours"] = "paper"
    """Whose statement it is."""
    remark: str = ""
    """What a reader should know beside the verdict and the rule does not say, such as how little it asks. Not part of the rule: it
    may be written after the runs, and changes no verdict."""
    untested: Mapping[str, str] = field(default_factory=dict)
    """By the name of a case ("" for all): why the experiment cannot answer it, whatever its runs show. Such a case is "not tested";
    what the rule alone says stands beside it."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A figure of a paper, or a test of an objection to it."""

    name: str
    also: Sequence[str] = ()
    """Names of further figures that it draws."""
    paper: str
    title: str
    question: str
    base: RunConfig
    """What all arms have in common, at full size."""
    arms: Mapping[str, Overrides]
    """Dotted settings on top of the base, by the arm's name."""
    seeds: int = 5
    seeds_of: Mapping[str, int] = field(default_factory=dict)
    """Arms with another number of seeds at full size."""
    first_seed: int = 0
    """Of every arm; above 0 where seeds that were seen before must not decide."""
    quick: Overrides = field(default_factory=dict)
    """Settings that make it small enough for two cores; those of the arms come on top."""
    quick_seeds: int = 3
    quick_arms: Mapping[str, Overrides] | None = None
    """Arms that the quick size keeps, with settings on top of their own; None keeps all as they are."""
    claims: Sequence[Claim]
    pictures: Mapping[str, str | Draw]
    """By file name: the name of a registered figure, a registered function (some of its arguments may be given), or any
    function that draws runs."""
    probes: Sequence[str] = ()
    """Probes of every run that are stored with the results."""
    collected: Sequence[str] = ()
    """Registered numbers of every run that are found when results are collected; see `collected.py`."""
    curves: Sequence[str] = ()
    """Metrics that its claims read over epochs, or its pictures beyond what they need: their curves are stored, besides those of
    every experiment (`collect.STORED`)."""
    thresholds: Sequence[float] = ()
    """Accuracies at which the clocks are taken besides 99 % and 95 %, for tasks whose best accuracy is lower."""
    parts: Sequence[str] = ()
    """First words of the arms' names: figures of runs are drawn for each part separately."""
    settings: Literal["authors'", "ours"] = "ours"
    """Whose set-up it is."""
    differs: str = ""
    """What of the settings is not the authors', in one sentence."""
    priced: bool = False
    """Also time one step of every arm, so that arms can be compared in seconds."""
    counted: bool = False
    """Also count the operations of one step of every arm (`flops_per_epoch`)."""
    prepare: Callable[[Experiment, Path, Scale], Experiment] | None = None
    """Where settings of the arms are found by tuning: the experiment with those stored in a folder of results."""

    @property
    def trains_on(self) -> bool:
        """Whether further runs are trained when its results are collected, such as searches."""
        return not training.isdisjoint(self.collected)

    @property
    def needs_device(self) -> bool:
        """Whether collecting its results needs the device that its runs were trained on, for timing or for further training."""
        return self.priced or self.trains_on

    def arms_at(self, scale: Scale) -> dict[str, Overrides]:
        """The arms that are run at a scale."""
        if scale == "full" or self.quick_arms is None:
            return dict(self.arms)
        return {arm: {**self.arms[arm], **more} for arm, more in self.quick_arms.items()}

    def configs(
        self, scale: Scale, seeds: int | None = None, precision: Literal["float32", "tf32"] = "float32"
    ) -> list[tuple[str, RunConfig]]:
        """Every arm with every seed. The runs are exact: what an experiment finds depends on no other that shares its folder.

        precision   of runs that leave it to the device
        """
        counts = {arm: seeds or self.seeds_at(scale, arm) for arm in self.arms_at(scale)}
        check_count(sum(counts.values()), "seeds")
        chosen: list[tuple[str, RunConfig]] = []
        runs: dict[tuple[str, int], RunConfig] = {}
        for arm, settings in self.arms_at(scale).items():
            plain = self.base.changes()
            for layer in (self.quick if scale == "quick" else {}, settings):
                plain = merge(plain, nested(dict(layer)))
            config = replace(RunConfig.from_dict(plain).check(), exact=True)
            if config.precision == "auto":
                config = replace(config, precision=precision)
            own = [
                self._named(replace(config, seed=self.first_seed + at), runs, counts[arm]) for at in range(counts[arm])
            ]
            runs |= {(arm, one.seed): one for one in own}
            chosen += [(arm, one) for one in own]
        return chosen

    def seeds_at(self, scale: Scale, arm: str) -> int:
        """How many seeds an arm has at a scale."""
        return self.seeds_of.get(arm, self.seeds) if scale == "full" else self.quick_seeds

    def _named(self, config: RunConfig, earlier: Mapping[tuple[str, int], RunConfig], seeds: int) -> RunConfig:
        """With every reference "@arm" (a teacher, the origin of a ticket) replaced by the id of that arm's run with the same
        seed, and "@@arm" by that of its run with the next seed (after the last comes the first); the arm must come earlier."""
        for setting in REFERENCES:
            name = referred(config, setting)
            if name.startswith("@"):
                shift = 1 if name.startswith("@@") else 0
                require(shift < seeds, setting, f"{name} needs two seeds or more")
                seed = self.first_seed + (config.seed - self.first_seed + shift) % seeds
                config = config.with_values({setting: earlier[name[1 + shift :], seed].id})
        return config


_experiments: dict[str, Experiment] = {}


def experiment(**what: Any) -> Experiment:
    """Register an experiment."""
    made = Experiment(**what)
    if made.name in _experiments:
        raise ConfigError("experiment", f"{made.name!r} is registered twice; choose another name")
    _experiments[made.name] = made
    return made


def all_experiments() -> dict[str, Experiment]:
    """Every experiment by name, sorted by paper, then by figure, then by name."""
    import_tree(HOME)
    return dict(sorted(_experiments.items(), key=lambda item: _place(item[1])))


def _place(experiment: Experiment) -> tuple[int, bool, int, str]:
    """si-fig2 comes before si-fig10, both before si-dial, and all three before gt-fig2a."""
    paper = PAPERS.index(experiment.paper) if experiment.paper in PAPERS else len(PAPERS)
    figure = re.search(r"-fig(\d+)", experiment.name)
    return paper, figure is None, int(figure[1]) if figure else 0, experiment.name


def find_experiment(name: str) -> Experiment:
    known = all_experiments()
    if name not in known:
        raise ConfigError("experiment", f"none is called {name!r}. {nearest(name, known)}")
    return known[name]


def matching_experiments(patterns: Iterable[str]) -> list[Experiment]:
    """Experiments by name, by the name of another figure they draw, or by pattern (`si-*`), without repetition."""
    known = all_experiments()
    drawn_by = {name: [name] for name in known}
    for experiment in known.values():
        for figure in experiment.also:
            drawn_by.setdefault(figure, []).append(experiment.name)
    found: list[str] = []
    for pattern in patterns:
        names = fnmatch.filter(drawn_by, pattern)
        if not names:
            raise ConfigError("experiment", f"none is called {pattern!r}. {nearest(pattern, drawn_by)}")
        found += [name for figure in names for name in drawn_by[figure]]
    return [known[name] for name in dict.fromkeys(found)]


def arms_over(setting: str, values: Sequence[Any], label: str = "{}", **others: Any) -> Arms:
    """One arm per value of a setting; `others` (with __ for dots) are the same in all of them."""
    common = {name.replace("__", "."): value for name, value in others.items()}
    return {label.format(value): {setting: value, **common} for value in values}


def crossed(*factors: Mapping[str, Overrides]) -> Arms:
    """Every combination of the factors' levels, named by joining their names."""
    arms: Arms = {"": {}}
    for factor in factors:
        arms = {
            f"{name}, {level}" if name else level: {**settings, **more}
            for name, settings in arms.items()
            for level, more in factor.items()
        }
    return arms


def kept(arms: Iterable[str]) -> dict[str, Overrides]:
    """Arms that the quick size keeps as they are."""
    return {arm: {} for arm in arms}
