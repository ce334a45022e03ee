"""Analysis: stored metrics to grokking times, phases, statistics and verdicts. Tables in, numbers and words out.

Names are imported when they are first used: listing runs needs their times, and not pandas and SciPy, which take seconds to
import.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .censored import unfinished, unreached, unreached_word
    from .groups import Comparison, compare, log_rank_of_arms, summarise
    from .phases import Phases, Span, find_phases
    from .stored import stored_times, summary_of, times_of, times_of_each
    from .survival import KaplanMeier, LogRank, Median, Sample, holm, kaplan_meier, log_rank, sample
    from .times import DEFAULT, FIRST_TOUCH, Criterion, Times, run_times
    from .trend import Trend, compare_with, trend_over
    from .verdict import Run, Verdict, runs_of, verdict_in_words

__all__ = [
    "DEFAULT",
    "FIRST_TOUCH",
    "Comparison",
    "Criterion",
    "KaplanMeier",
    "LogRank",
    "Median",
    "Phases",
    "Run",
    "Sample",
    "Span",
    "Times",
    "Trend",
    "Verdict",
    "compare",
    "compare_with",
    "find_phases",
    "holm",
    "kaplan_meier",
    "log_rank",
    "log_rank_of_arms",
    "run_times",
    "runs_of",
    "sample",
    "stored_times",
    "summarise",
    "summary_of",
    "times_of",
    "times_of_each",
    "trend_over",
    "unfinished",
    "unreached",
    "unreached_word",
    "verdict_in_words",
]

_MODULES = {
    "groups": ("Comparison", "compare", "log_rank_of_arms", "summarise"),
    "phases": ("Phases", "Span", "find_phases"),
    "stored": ("stored_times", "summary_of", "times_of", "times_of_each"),
    "survival": ("KaplanMeier", "LogRank", "Median", "Sample", "holm", "kaplan_meier", "log_rank", "sample"),
    "times": ("DEFAULT", "FIRST_TOUCH", "Criterion", "Times", "run_times"),
    "censored": ("unfinished", "unreached", "unreached_word"),
    "trend": ("Trend", "compare_with", "trend_over"),
    "verdict": ("Run", "Verdict", "runs_of", "verdict_in_words"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, for tab completion: most are imported when they are first used."""
    return sorted(__all__)
