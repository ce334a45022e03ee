"""What the experiments of the search share."""

from __future__ import annotations

from typing import Any

from ...config import RunConfig
from ...models.transformer import Transformer
from ...optim.adamw import AdamW
from ...tasks.modular import Modular
from . import figures as figures  # registers the picture of the experiments
from . import found as found  # registers the numbers that they collect

BASE = RunConfig(
    task=Modular(distractors=2, alphabet="operands", train_fraction=0.35, validation=0.1, confirmation=0.05),
    model=Transformer(),
    optim=AdamW(lr=1e-2),
    precision="tf32",
    epochs=15_000,
)
"""Distractors from the operand vocabulary, where plain training memorises through them; the learning rate at which the first rung
was chosen. Of 35 % of the table 15 % are set aside, so that every method trains on 30 %."""

QUICK = {
    "task.p": 37,
    "task.train_fraction": 0.7,
    "model.d": 48,
    "model.d_mlp": 192,
    "precision": "float32",
    "epochs": 1500,
}
"""Small enough for two cores; the same code."""


def parity(n: int) -> dict[str, Any]:
    """Settings of a parity of three among n bits: the same runs in every experiment."""
    return {"task": "parity", "task.n": n, "task.k": 3, "task.train_size": 1000, "task.validation": 0.2}


COLLECTED = ("search_found", "search_claimed", "search_decided", "search_steps", "search_sooner")

SETTINGS = (
    "All settings are ours. Candidates are judged by the calibrated loss on a tenth of the training examples; the winner is tested "
    "once on a twentieth. The search is given the number of informative tokens where nine or more come before the query. "
    "All subsets are candidates where there are at most 2,100."
)

FOUND = (
    "Agrees if the exact 95 % interval of the share of seeds in which the search names exactly the informative tokens lies above "
    "{}, disagrees if it lies below."
)
SOONER = (
    "Run-steps of all candidates count. A method that does not reach 99 % test accuracy within the epochs of plain training counts "
    "as later; seeds in which neither does are left out. Agrees if the exact 95 % interval of the share of seeds in which the "
    "search takes fewer run-steps lies above {}, disagrees if it lies below."
)
