"""Analysis: stored metrics to grokking times, phases, statistics and verdicts. Tables in, numbers and words out."""

from .groups import Comparison, compare, summarise
from .phases import Phases, Span, find_phases
from .stored import summary_of, times_of
from .survival import KaplanMeier, LogRank, Median, Sample, holm, kaplan_meier, log_rank, sample
from .times import DEFAULT, FIRST_TOUCH, Criterion, Times, run_times
from .unreached import unfinished, unreached, unreached_word
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
    "Verdict",
    "compare",
    "find_phases",
    "holm",
    "kaplan_meier",
    "log_rank",
    "run_times",
    "runs_of",
    "sample",
    "summarise",
    "summary_of",
    "times_of",
    "unfinished",
    "unreached",
    "unreached_word",
    "verdict_in_words",
]
