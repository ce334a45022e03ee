"""The attention that a branch began with, for runs whose attention is clamped to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..interventions.base import NoIntervention
from ..store import RunInfo, read_checkpoint, read_run
from .network import Network

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import RunConfig
    from ..fleet.data import AtBranch
    from ..tasks import Examples


def began_at(info: RunInfo) -> int:
    """The epoch at which a run began: 0, unless it is a branch."""
    return int(info.manifest.get("parent", {}).get("epoch", 0))


def attention_at_branch(config: RunConfig, path: Path) -> AtBranch | None:
    """The attention of the network in the first checkpoint of a branch, by head if there are several; None unless the run's
    attention is clamped to it.

    path   the folder of the branch itself
    """
    if not config.do.clamps_to_branch:
        return None

    def attention(examples: Examples) -> Tensor:
        info = read_run(path)
        first = read_checkpoint(info, began_at(info)).tensors
        found = Network.from_tensors(replace(config, do=NoIntervention()), first)(examples).attention
        assert found is not None
        return found.squeeze(1) if found.shape[1] == 1 else found

    return attention
