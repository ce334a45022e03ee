"""Tables with known answers, and what every rule says of them."""

import numpy as np
from tables import lognormal, results_of

from grokscope.experiments.clocks import (
    FIRST_99,
)
from grokscope.experiments.rules import (
    Alike,
    BestShareAtLeast,
    Correlated,
    Differ,
    Fastest,
    Greater,
    Less,
    NoLater,
    NotTested,
    PowerLaw,
    ShareAtLeast,
    ShareAtMost,
    Sooner,
    WithinRange,
)

FAST, SLOW, SAME = lognormal(1000, seed=1), lognormal(2000, seed=2), lognormal(2000, seed=3)
NEVER = [None] * 20
TIMES = results_of(fast=FAST, slow=SLOW, same=SAME, never=NEVER, few=FAST[:4])
LEVELS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


def levels(law, **options):
    made = results_of(
        10**9, **{f"b{i}": lognormal(law(x), seed=i, spread=0.2) for i, x in enumerate(LEVELS)}, **options
    )
    x = made.runs["arm"].str[1:].astype(int).map(dict(enumerate(LEVELS)))
    return made._replace(runs=made.runs.assign(beta=x))


def with_column(shift, seeds=20, noise=1.0):
    made = results_of(a=[100] * seeds, b=[100] * seeds)
    drawn = np.random.default_rng(0).normal(0, noise, 2 * seeds) + np.repeat([shift, 0.0], seeds)
    return made._replace(runs=made.runs.assign(norm=drawn))


def correlated(rho):
    made = results_of(a=[100] * 30)
    x, noise = np.random.default_rng(1).normal(size=(2, 30))
    return made._replace(runs=made.runs.assign(x=x, y=rho * x + np.sqrt(1 - rho**2) * noise))


B = [f"b{i}" for i in range(6)]
CONTROLS = {
    "sooner": (Sooner("fast", "slow"), TIMES, "agrees"),
    "later": (Sooner("slow", "fast"), TIMES, "disagrees"),
    "sooner than never": (Sooner("slow", "never"), TIMES, "agrees"),
    "never": (Sooner("never", "slow"), TIMES, "disagrees"),
    "neither": (Sooner("slow", "same"), TIMES, "cannot be told"),
    "neither reaches": (Sooner("never", "other"), results_of(never=NEVER, other=NEVER), "cannot be told"),
    "sooner by less than a tenth": (
        Sooner("a", "b"),
        results_of(a=[1000 + i for i in range(20)], b=[1000 + i for i in range(20)]),
        "disagrees",
    ),
    "too few": (Sooner("few", "slow"), TIMES, "cannot be told"),
    "no later": (NoLater("fast", "slow"), TIMES, "agrees"),
    "no later within the slack": (NoLater("slow", "same", slack=1.5), TIMES, "agrees"),
    "not shown to be no later": (NoLater("slow", "same", slack=1.01), TIMES, "cannot be told"),
    "later than the slack": (NoLater("slow", "fast"), TIMES, "disagrees"),
    "alike": (Alike(("slow", "same")), TIMES, "agrees"),
    "not alike": (Alike(("fast", "same"), slack=1.2), TIMES, "disagrees"),
    "one of three is not": (Alike(("slow", "same", "fast"), slack=1.2), TIMES, "disagrees"),
    "alike, not shown": (Alike(("slow", "same"), slack=1.02), TIMES, "cannot be told"),
    "alike in never reaching": (Alike(("never", "other")), results_of(never=NEVER, other=NEVER), "cannot be told"),
    "differ": (Differ(("slow", "same", "fast")), TIMES, "agrees"),
    "do not differ": (Differ(("slow", "same"), slack=1.5), TIMES, "disagrees"),
    "may differ": (Differ(("slow", "same"), slack=1.02), TIMES, "cannot be told"),
    "most": (ShareAtLeast("fast", 0.8), TIMES, "agrees"),
    "not most": (ShareAtLeast("never", 0.8), TIMES, "disagrees"),
    "most of few": (ShareAtLeast("few", 0.8), TIMES, "cannot be told"),
    "hardly any": (ShareAtMost("never", 0.2), TIMES, "agrees"),
    "not hardly any": (ShareAtMost("fast", 0.2), TIMES, "disagrees"),
    "about half": (ShareAtMost("half", 0.4), results_of(half=[100] * 10 + [None] * 10), "cannot be told"),
    "best of two": (BestShareAtLeast(("never", "fast"), 0.5), TIMES, "agrees"),
    "best of none": (BestShareAtLeast(("never", "other"), 0.5), results_of(never=NEVER, other=NEVER), "disagrees"),
    "about half of the best": (
        BestShareAtLeast(("a", "never"), 0.5),
        results_of(a=[100, None, 100, 100] * 5, never=NEVER),
        "cannot be told",
    ),
    "greater": (Greater("norm", "a", "b"), with_column(1.5), "agrees"),
    "not greater": (Greater("norm", "b", "a"), with_column(1.5), "disagrees"),
    "not greater by the margin": (Greater("norm", "a", "b", margin=4.0), with_column(1.5), "disagrees"),
    "as great": (Greater("norm", "a", "b"), with_column(0.0), "cannot be told"),
    "less": (Less("norm", "b", "a"), with_column(1.5), "agrees"),
    "less than the margin": (Less("norm", "a", "b", margin=4.0), with_column(1.5), "agrees"),
    "not less": (Less("norm", "a", "b"), with_column(1.5), "disagrees"),
    "correlated": (Correlated("x", "y", 1), correlated(0.9), "agrees"),
    "correlated the other way": (Correlated("x", "y", -1), correlated(0.9), "disagrees"),
    "not correlated": (Correlated("x", "y", 1), correlated(0.0), "cannot be told"),
    "within the range": (WithinRange("norm", "a", 0.5, 2.5), with_column(1.5), "agrees"),
    "outside the range": (WithinRange("norm", "a", 3.0, 9.0), with_column(1.5), "disagrees"),
    "on the border": (WithinRange("norm", "a", 1.5, 9.0), with_column(1.5), "cannot be told"),
    "median time within": (WithinRange(FIRST_99, "fast", 500, 2000), TIMES, "agrees"),
    "median time outside": (WithinRange(FIRST_99, "never", 500, 2000), TIMES, "disagrees"),
    "median time on the border": (WithinRange(FIRST_99, "fast", 1000, 9000), TIMES, "cannot be told"),
    "fastest": (Fastest("A", {"A": ("fast", "slow"), "B": ("same", "never")}), TIMES, "agrees"),
    "not fastest": (Fastest("B", {"A": ("fast", "slow"), "B": ("same", "never")}), TIMES, "disagrees"),
    "as fast": (Fastest("A", {"A": ("slow",), "B": ("same",)}), TIMES, "cannot be told"),
    "law": (PowerLaw("beta", B), levels(lambda x: 500 + 10 / x), "agrees"),
    "another law": (PowerLaw("beta", B), levels(lambda x: 500 + 100 * x**-0.4), "disagrees"),
    "no effect": (PowerLaw("beta", B), levels(lambda x: 500), "cannot be told"),
    "three levels": (PowerLaw("beta", B[:3]), levels(lambda x: 500 + 10 / x), "cannot be told"),
    "not run": (Sooner("fast", "absent"), TIMES, "not tested"),
    "no such column": (Greater("absent", "fast", "slow"), TIMES, "not tested"),
    "not tested": (NotTested("no data"), TIMES, "not tested"),
}
