"""Where LayerNorm stands, when a run groks, and what attention and shortcuts have to do with it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ...experiments.base import Claim, experiment
from ...experiments.clauses import median_of
from ...experiments.rules import in_most_runs, sooner_in_each
from ...thresholds import reaches
from .common import HARD, PLACEMENTS, PLACES, quick
from .figures.shortcuts import shortcuts
from .rules import alike_in_each, differ_in_each, later_with

if TYPE_CHECKING:
    import pandas as pd

    from ...store.results import Results

RMS = {f"RMS, {name}": {"model.norm": norm, "model.norm_kind": "rms"} for name, norm in PLACES.items()}


def entropy_at_memorisation(results: Results) -> pd.Series:
    """Mean entropy of attention at the evaluation nearest to t_mem."""
    curves = results.curves.merge(results.runs[["run", "t_mem"]].dropna(), on="run")
    nearest = (curves["epoch"] - curves["t_mem"]).abs().groupby(curves["run"]).idxmin()
    return curves.loc[nearest].set_index("run")["entropy"]


def distractor_reliance(results: Results) -> pd.Series:
    """Training accuracy that is lost when distractors come from another example, at the first checkpoint that has memorised
    (training accuracy 95 % or more) and not generalised (test accuracy below 50 %)."""
    table = results.probes["shortcut"].pivot_table(index=["run", "epoch"], columns=["side", "kept"], values="accuracy")
    train, test = table["train"], table["test"]
    waiting = reaches(train["everything"], 0.95) & ~reaches(test["everything"], 0.5)
    lost = (train["everything"] - train["operands"])[waiting]
    return lost.sort_index().groupby("run").first()


experiment(
    name="ib-placement",
    paper="inductive-bias",
    title="Where LayerNorm stands",
    question="Does the place of LayerNorm change when a run groks, and do attention entropy and shortcuts tell why?",
    base=HARD,
    arms=PLACEMENTS | RMS,
    quick=quick(1500),
    quick_seeds=2,
    claims=[
        Claim(
            name="speed",
            statement="The place of LayerNorm changes the grokking time.",
            rule="Holds if the log-rank test over the six placements gives p < 0.05; does not hold if it does not and all "
            "medians are within a factor of 1.5.",
            judge=differ_in_each({"": list(PLACEMENTS)}),
        ),
        Claim(
            name="sooner",
            statement="LayerNorm makes grokking come sooner, wherever it stands.",
            rule="For each place: log-rank p < 0.05 against no normalisation after Holm's correction and the earlier median.",
            judge=sooner_in_each({place: (place, "none") for place in PLACES}),
        ),
        Claim(
            name="rms",
            statement="RMSNorm in the same place does what LayerNorm does.",
            rule="Does not hold for a place if the log-rank test tells them apart (p < 0.05 after Holm's correction); else "
            "holds if the medians are within a factor of 1.5.",
            judge=alike_in_each({place: (place, f"RMS, {place}") for place in PLACES}),
        ),
        Claim(
            name="entropy",
            statement="Runs whose attention is more spread out when they have memorised grok later.",
            rule="Holds if over all runs the 95 % interval (bootstrap over runs) of the rank correlation of t_grok with the "
            "entropy of attention at t_mem lies above 0, does not hold if below; runs that never grokked come last.",
            judge_all=later_with(entropy_at_memorisation, "entropy"),
        ),
        Claim(
            name="shortcut",
            statement="Runs that lean on distractors after memorising grok later.",
            rule="Holds if over all runs the 95 % interval (bootstrap over runs) of the rank correlation of t_grok with the "
            "training accuracy lost when distractors are resampled lies above 0, does not hold if below; at the first "
            "checkpoint that has memorised (95 %) and not generalised (below 50 %); runs that never grokked come last.",
            judge_all=later_with(distractor_reliance, "accuracy lost"),
        ),
        Claim(
            name="bound",
            statement="The gradient on every attention logit stays beneath the bound of Lemma 5.1 wherever a norm stands.",
            rule="Holds if measured/bound is at most 1 at every evaluation of every run. A violation is a bug.",
            judge=in_most_runs(
                list(PLACEMENTS | RMS),
                lambda runs: runs["bound_ratio"] <= 1 + 1e-5,
                median_of("bound_ratio", "median ratio {}", "{:.3f}".format),
                share=1.0,
            ),
        ),
    ],
    pictures={
        "times": "times",
        "entropy-and-shortcuts": partial(shortcuts, arms=PLACEMENTS),
        "entropy-and-shortcuts-with-rms-norm": partial(shortcuts, arms=RMS),
    },
    probes=("shortcut",),
)
