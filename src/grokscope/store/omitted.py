"""How readers of many runs name those that they cannot read: each once, with what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Mapping

FEW = 3
"""Up to so many runs are named on a line of their own; of more, one line gives the number and the first ids."""

DELETED = "deleted while it was being read"
NOT_DAMAGE = (DELETED, "written by a newer grokscope", "written by an older grokscope", "--load", "no measurements yet")
"""Problems that neither `grokscope check` nor deleting the run would solve."""


def omitted_lines(problems: Mapping[str, str], verb: str = "omitted") -> list[str]:
    """Lines about runs that cannot be read.

    problems   what is wrong, by id of the run
    verb       what was done with them: run 3f9a is `omitted`
    """
    if len(problems) <= FEW:
        return [f"run {id} {verb}: {_sentence(id, problem)}" for id, problem in problems.items()]
    ids = list(problems)
    named = f"{', '.join(ids[:FEW])} and {len(ids) - FEW:,} more"
    return [f"{len(ids):,} runs {verb} ({named}); the first: {_sentence(ids[0], problems[ids[0]], others=True)}"]


def _sentence(id: str, problem: str, others: bool = False) -> str:
    problem = problem.removeprefix(f"run {id}: ").removeprefix(f"run {id} ")
    if any(words in problem for words in NOT_DAMAGE):
        return problem
    run = "RUN" if others else id
    return f"{problem}; `grokscope check {run}` shows what is damaged, `grokscope rm {run}` deletes it"
