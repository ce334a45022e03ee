"""What the inductive-bias experiments share. Only the abstract of the paper is at hand: task and sizes are those of the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...config import Log, Stop
from ...experiments.base import Arms
from ...tasks.modular import Modular
from ..structural_inference.common import PAPER, QUICK

HARD = replace(PAPER, log=Log(keep=500))
"""Sixteen distractor symbols; checkpoints dense enough for one between memorising and grokking in a run that does not wait long."""

EASY = replace(PAPER, task=Modular(alphabet=4), epochs=10_000, log=Log(keep=400), stop=Stop(window=1000))
"""Four distractor symbols: runs grok without help, and go on for a thousand epochs so that checkpoints show what comes after."""

PLACES = {
    "attention input": "attention",
    "MLP input": "mlp",
    "both inputs": "both",
    "query/key path": "query-key",
    "value path": "value",
}
"""What the placements are called, and the setting of each."""

PLACEMENTS: Arms = {"none": {"model.norm": "none"}} | {name: {"model.norm": norm} for name, norm in PLACES.items()}
"""LayerNorm nowhere, and in each place."""


def quick(epochs: int) -> dict[str, Any]:
    """The quick size, with a checkpoint every fifty epochs."""
    return {**QUICK, "epochs": epochs, "log.keep": 50, "stop.window": 100}
