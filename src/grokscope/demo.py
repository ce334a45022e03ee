"""The demo: three conditions on modular addition among random distractors, sized for two CPU cores and a minute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .analysis import DEFAULT, runs_of, verdict_in_words
from .config import Log, RunConfig
from .errors import ConfigError
from .figures.movie import DOTS, animated, frames, save_movie
from .models.transformer import Transformer
from .optim.adamw import AdamW
from .priors.kl import KL
from .probes import probed
from .report.pictures import Picture
from .report.runs import build_page, curves_of, save_picture, table_of
from .store import RunInfo, save_file
from .tasks.modular import Modular

if TYPE_CHECKING:
    from PIL.Image import Image

BASE = RunConfig(
    task=Modular(p=37, distractors=2, alphabet=12, train_fraction=0.7),
    model=Transformer(d=48, d_mlp=192),
    optim=AdamW(lr=1e-2),
    epochs=1500,
    log=Log(dense=True),  # else memorisation would be three points: 25, 50, 75
)

KEEP = 25
"""Epochs between the checkpoints that the movie is made of."""
FRAMES = 32

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
    """Every arm with every seed. The first run keeps checkpoints: the page opens with a movie of it."""
    first, *others = [replace(BASE, prior=prior, seed=seed) for prior, _ in ARMS.values() for seed in seeds]
    return [replace(first, log=replace(first.log, keep=KEEP)), *others]


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
    movie = _movie(runs[0], arms[0])
    built = build_page(
        runs,
        command=command,
        title="Grokking, waited for and skipped",
        lead="Why does a network that has memorised its training set wait before it generalises, and what ends the wait?",
        arms=arms,
        meanings={arm: meaning for arm, (_, meaning) in ARMS.items()},
        verdict=verdict.sentences,
        what=what,
        opening=_opening(movie) if movie else None,
        png=True,
    )
    if movie:
        save_movie(movie, output / "movie.gif")
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


def _movie(run: RunInfo, arm: str) -> list[Image]:
    """Frames of a run; none if it has too few checkpoints."""
    (curves,) = curves_of([run], [arm])
    try:
        return frames(curves, probed("attention-map", run), probed("embedding", run), FRAMES)
    except ConfigError:
        return []


def _opening(movie: Sequence[Image]) -> Picture:
    width, height = movie[0].size
    return Picture(
        name="movie",
        title="One run without a prior, from memorising to grokking",
        caption="Left: accuracy on training and test pairs. Middle: where the query looks; blue are the two operands. Right: the "
        "embeddings of the operands in the plane of their strongest frequency k, coloured by k·n mod p. The network has "
        "memorised long before attention settles on the operands and the embeddings form a circle.",
        alt="Animation: training accuracy rises early; much later attention moves to the two operands, the embeddings form a "
        "circle, and test accuracy rises.",
        width=width / DOTS,
        height=height / DOTS,
        small=animated(movie, "webp"),
        still=animated(movie[-1:], "webp"),
    )
