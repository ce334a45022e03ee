"""The demo: three conditions on modular addition among random distractors, sized for two CPU cores and a minute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from .analysis import DEFAULT, runs_of, verdict_in_words
from .config import RunConfig
from .models.transformer import Transformer
from .optim.adamw import AdamW
from .priors.kl import KL
from .report.runs import build_page, save_picture, table_of
from .store import RunInfo, save_file
from .tasks.modular import Modular

BASE = RunConfig(
    task=Modular(p=37, distractors=2, alphabet=12, train_fraction=0.7),
    model=Transformer(d=48, d_mlp=192),
    optim=AdamW(lr=1e-2),
    epochs=1500,
)

ARMS = {
    "no prior": (KL(beta=0.0), "trains on the task alone: it memorises, then waits"),
    "oracle prior": (KL(beta=0.3), "is told where to look: KL prior towards the two operands"),
    "adversarial prior": (KL(beta=0.3, target="adversarial"), "is misled: KL prior towards the distractors"),
}


@dataclass(frozen=True, kw_only=True)
class Result:
    """What the demo shows."""

    verdict: str
    claims: dict[str, bool]
    criterion: dict[str, Any]
    """The one that the times of the runs were found by."""
    page: Path
    runs: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "page": str(self.page)}


def configs(seeds: Sequence[int]) -> list[RunConfig]:
    """Every arm with every seed."""
    return [replace(BASE, prior=prior, seed=seed) for prior, _ in ARMS.values() for seed in seeds]


def write(runs: Sequence[RunInfo], output: Path, *, command: str) -> Result:
    """Verdict and page from the demo's trained runs."""
    names = {str(prior.to_dict()): arm for arm, (prior, _) in ARMS.items()}
    arms = [names[str(run.config["prior"])] for run in runs]
    table = table_of(runs, arms)
    verdict = verdict_in_words(*(runs_of(table[table["arm"] == arm]) for arm in ARMS))
    task, model = BASE.task, BASE.model
    assert isinstance(task, Modular) and isinstance(model, Transformer)
    shape = task.shape
    what = (
        f"Task: (a + b) mod {task.p}. A sequence holds a, b, {task.distractors} distractors drawn for every example from "
        f"{task.alphabet} symbols, and “=”, where the answer is read. {shape.train_size} of all {task.p**2} pairs are for "
        f"training, {shape.test_size} for testing.",
        f"Model: one layer, one head, width {model.d}, MLP of {model.d_mlp} ReLU units, residual readout. AdamW, learning rate "
        f"{BASE.optim.lr:g}, weight decay {BASE.optim.weight_decay:g}, full batch, at most {BASE.epochs} epochs. A run ends "
        f"early once test accuracy has stayed at {BASE.stop.accuracy:.0%} for {BASE.stop.window} epochs.",
    )
    built = build_page(
        runs,
        command=command,
        title="Grokking, waited for and skipped",
        lead="Why does a network that has memorised its training set wait before it generalises, and what ends the wait?",
        arms=arms,
        meanings={arm: meaning for arm, (_, meaning) in ARMS.items()},
        verdict=verdict.sentences,
        what=what,
        png=True,
    )
    page = save_file(output / "index.html", built.html)
    for picture in built.pictures:
        save_picture(output, picture)
    return Result(
        verdict=verdict.text,
        claims=verdict.claims,
        criterion=DEFAULT.to_dict(),
        page=page,
        runs=table.astype(object).where(table.notna(), None).to_dict("records"),
    )
