"""Analysis: stored metrics to grokking times, phases, statistics and verdicts. Tables in, numbers and words out."""

from .groups import Comparison, compare, summarise
from .phases import Phases, Span, find_phases
from .survival import KaplanMeier, LogRank, Median, Sample, holm, kaplan_meier, log_rank, sample
from .times import Crossing, Times, crossing, run_times
from .verdict import Run, Verdict, runs_of, verdict_in_words

__all__ = [
    "Comparison",
    "Crossing",
    "KaplanMeier",
    "LogRank",
    "Median",
    "Phases",
    "Run",
    "Sample",
    "Span",
    "Times",
    "Verdict",
    "compare",
    "crossing",
    "find_phases",
    "holm",
    "kaplan_meier",
    "log_rank",
    "run_times",
    "runs_of",
    "sample",
    "summarise",
    "verdict_in_words",
]
