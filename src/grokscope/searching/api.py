"""`grokscope.search`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config import nested
from ..launch.local import train_all
from ..launch.precision import resolved
from ..ops.devices import resolve_device
from ..store.tournaments import save_tournament
from .compare import chosen_rivals, compare
from .prepare import prepare
from .race import Race, StoppedError, Train
from .settings import SearchSettings
from .tournament import Tournament

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..store import RunInfo


def search(
    config: RunConfig,
    *,
    k: int | None = None,
    budget: int = 0,
    settings: SearchSettings | Mapping[str, Any] | None = None,
    rivals: Sequence[str] = (),
    runs: str | Path = "runs",
    device: str = "auto",
    lanes: int | None = None,
    train: Train | None = None,
    notify: Callable[[str], None] | None = None,
) -> Tournament:
    """Find which tokens the labels of a task depend on, and train a run that attends to them.

    k          number of tokens (or other units of `settings.family`); None means unknown, 1 … 4
    budget     most run-steps of all candidates together until one is chosen; 0 means ten times `config.epochs`
    settings   further settings, or a dict of them by dotted name, e.g. {"schedule": "racing", "schedule.first": 100}
    rivals     names of other methods to compare with under the same splits and budget; ["all"] for those that apply
    runs       folder of runs: every candidate is one, and the same call continues where it stopped
    train      trains configs; by default `train_all`
    notify     called with one line per stage

    Ctrl-C saves everything and returns the tournament with status "stopped".
    """
    chosen = (
        settings
        if isinstance(settings, SearchSettings)
        else SearchSettings.from_dict(nested(settings or {}), path="search")
    )
    given: dict[str, Any] = ({} if k is None else {"k": k}) | ({"budget": budget} if budget else {})
    if config.precision == "auto":  # before a run has an id; else the device may be one that only workers have
        config = resolved(config, resolve_device(device))
    plan = prepare(config, chosen.with_values(given))
    chosen_rivals(rivals, plan)
    trainer, tell = train or _trainer(runs, device, lanes), notify or (lambda line: None)
    tournament = Race(plan, Path(runs), trainer, tell).run()
    if rivals and tournament.status == "finished":
        try:
            tell("rivals")
            outcomes = compare(tournament, plan, rivals, Path(runs), trainer)
            tournament.rivals = [one.to_dict() for one in outcomes]
        except StoppedError:
            tournament.status = "stopped"
        save_tournament(runs, tournament.id, tournament.to_dict())
    return tournament


def _trainer(runs: str | Path, device: str, lanes: int | None) -> Train:
    def train(configs: Sequence[RunConfig], names: Sequence[str]) -> list[RunInfo]:
        return train_all(configs, runs=runs, device=device, lanes=lanes, notify=quiet_stages)

    return train


def quiet_stages(line: str) -> None:
    """Print what differs from the request, except that candidates are continued or were trained further, as in every race."""
    if not any(word in line for word in ("now continued to epoch", "trained further than requested")):
        print(line, file=sys.stderr)
