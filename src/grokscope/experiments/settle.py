"""From the cases of a rule to the verdict on a claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..analysis.survival import holm
from .base import Case, Ruling, Verdict
from .clocks import NotRunError

if TYPE_CHECKING:
    from ..store.results import Results
    from .base import Claim

ALPHA = 0.05
"""Two-sided level of every test."""
FEWEST = 6
"""Pairs without which no paired test can reach the level: 2 · 2⁻⁶ < 5 %."""

HARDLY = 0.05
"""Power below which a case says that it could hardly agree."""
SMALL = "in the direction of the claim, but within the margin in which the rule sees no difference"


class Rule:
    """Base of the rules."""

    def cases(self, results: Results) -> list[Case]:
        """What the results say, case by case, before verdicts; NotRunError where an arm or a column is missing."""
        raise NotImplementedError

    def found(self, results: Results) -> list[Case]:
        """The same; "not tested" where something is missing."""
        try:
            return self.cases(results)
        except NotRunError as missing:
            return [Case(verdict="not tested", measured=f"not run: {missing}")]

    def __call__(self, results: Results) -> Ruling:
        return settle(self.found(results))


def too_few(pairs: int, wanted: int = FEWEST) -> str:
    """Why so few pairs decide nothing; empty if they are enough."""
    return f"{counted(pairs, 'seed')} fewer than {wanted}" if pairs < wanted else ""


def counted(number: int, what: str) -> str:
    """`1 run is`, `3 runs are`"""
    return f"{number} {what} is" if number == 1 else f"{number} {what}s are"


def judge(claim: Claim, results: Results) -> Ruling:
    """The verdict of the claim's rule, less the cases that the experiment cannot answer."""
    cases = claim.rule.found(results)
    whole = claim.untested.get("", "")
    return settle([replace(case, untested=claim.untested.get(case.name, whole) or case.untested) for case in cases])


def settle(cases: Sequence[Case]) -> Ruling:
    """Verdicts of all cases, with Holm's correction over those that a test decides, and one verdict from them."""
    tested = [at for at, case in enumerate(cases) if case.verdict is None]
    sides = [_corrected([cases[at] for at in tested], side) for side in ("p_for", "p_against", "least")]
    settled = [_readable(case) for case in cases]
    for at, agrees, disagrees, least in zip(tested, *sides, strict=True):
        verdict: Verdict = "agrees" if agrees < ALPHA else "disagrees" if disagrees < ALPHA else "cannot be told"
        verdict = "cannot be told" if cases[at].blocked else verdict
        if cases[at].untested:
            settled[at] = _set_aside(settled[at], verdict)
            continue
        note = _note(cases[at], verdict, disagrees, least, len(tested))
        settled[at] = replace(settled[at], verdict=verdict, p=min(agrees, disagrees), note=note)
    verdict, when = combined({case.name: case.verdict or "cannot be told" for case in settled})
    if verdict == "agrees" and any(case.untested for case in settled):
        verdict = "agrees in part"  # what is set aside, perhaps after the runs, makes no claim stronger
    tests = dict.fromkeys(case.test for case in settled if case.test)
    correction = [f"Holm's correction over {len(tested)} cases"] if tests and len(tested) > 1 else []
    test = "; ".join([*tests, *correction])
    return Ruling(verdict=verdict, when=when, cases=settled, test=test, measured="\n".join(map(line, settled)))


def _set_aside(case: Case, verdict: Verdict) -> Case:
    """The case as not tested, with what the rule alone says of it."""
    alone = f"the rule alone: {verdict}" if verdict in ("agrees", "disagrees") else ""
    measured = "; ".join(part for part in (alone, case.measured) if part)
    return replace(case, verdict="not tested", p=None, blocked=case.untested, simulated=None, measured=measured)


def _corrected(cases: Sequence[Case], side: str) -> list[float]:
    """Two-sided p of the cases of a claim, after Holm's correction."""
    return [float(p) for p in holm([min(1.0, 2 * getattr(case, side)) for case in cases])]


def _note(case: Case, verdict: Verdict, disagrees: float, least: float, cases: int) -> str:
    """What a reader should know about a verdict: how little it says, or why the effects seem to say more."""
    if verdict == "agrees":
        return SMALL if disagrees < ALPHA else ""
    if case.seeds and least >= ALPHA:
        among = f" among {cases} cases" if cases > 1 else ""
        return f"{counted(case.seeds, 'run')} too few to agree{among}, whatever {'it shows' if case.seeds == 1 else 'they show'}"
    notes = []
    if case.simulated and case.simulated.power < HARDLY and not case.blocked:
        notes.append(f"{case.seeds} runs like these could hardly agree, even where the claim is true")
    if verdict == "cannot be told" and not case.blocked and 2 * min(case.p_for, case.p_against) < ALPHA:
        alone = "agree" if case.p_for < case.p_against else "disagree"
        notes.append(f"by itself it would {alone}, but not among {cases} cases (Holm)")
    return "; ".join(notes)


def _readable(case: Case) -> Case:
    """The case, its effects without an arm that its own name ends with. One of which nothing is known comes last, unless arms give
    the order: where few runs reach, the shares tell more than a ratio of times."""
    named = [
        effect._replace(of="") if effect.of and case.name.endswith(effect.of) else effect for effect in case.effects
    ]
    if not case.asked and not any(effect.of for effect in named):
        named.sort(key=lambda effect: not effect.bounded)
    return replace(case, effects=named)


def combined(verdicts: Mapping[str, Verdict]) -> tuple[Verdict, str]:
    """One verdict from those of the cases, and which have which where they differ. One case that disagrees refutes a statement
    that no other supports; cases that were not run do not count."""
    cases: dict[Verdict, list[str]] = {}
    for case, verdict in verdicts.items():
        cases.setdefault(verdict, []).append(case)
    # names of cases have commas of their own
    when = " · ".join(f"{verdict}: {'; '.join(names)}" for verdict, names in cases.items()) if len(cases) > 1 else ""
    found = set(cases) - {"not tested"}
    if not found:
        return "not tested", when
    if "agrees" in found or "agrees in part" in found:
        return ("agrees" if found == {"agrees"} else "agrees in part"), when
    return ("disagrees" if "disagrees" in found else "cannot be told"), when


def line(case: Case) -> str:
    """`q = 16: agrees. time ratio = 0.42 (0.31 to 0.55), p = 0.0002, 20 seeds; oracle: … · no prior: …`"""
    head = (f"{case.name}: " if case.name else "") + f"{case.verdict}. "
    stats = [str(effect) for effect in case.effects]
    stats += [f"p = {case.p:.2g}"] if case.p is not None else []
    stats += [f"{case.seeds} seeds"] if case.seeds else []
    stats += [str(case.simulated)] if case.simulated else []
    why = f"cannot be told: {case.blocked}" if case.blocked and case.verdict == "cannot be told" else case.blocked
    parts = [", ".join(stats), why, case.note, case.measured]
    return head + "; ".join(part for part in parts if part)
