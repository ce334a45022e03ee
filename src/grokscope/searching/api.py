"""`grokscope.search`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config import nested
from ..launch.precision import resolved
from ..ops.devices import resolve_device
from ..store import check_writable
from ..store.tournaments import save_tournament
from .compare import chosen_rivals, compare
from .prepare import prepare
from .race import Race
from .settings import SearchSettings
from .together import together
from .tournament import Tournament
from .training import StoppedError, Train, Trainer, local_trainer

if TYPE_CHECKING:
    from ..config import RunConfig


def search(
    config: RunConfig,
    *,
    k: int | None = None,
    budget: int = 0,
    settings: SearchSettings | Mapping[str, Any] | None = None,
    rivals: str | Sequence[str] = (),
    runs: str | Path = "runs",
    device: str = "auto",
    lanes: int | None = None,
    train: Train | Trainer | None = None,
    notify: Callable[[str], None] | None = None,
) -> Tournament:
    """Find which tokens the labels of a task depend on, and train a run that attends to them.

    k          number of tokens (or other units of `settings.family`); None means unknown, 1 … 4
    budget     most run-steps of all candidates together until one is chosen; 0 means ten times `config.epochs`
    settings   further settings, or a dict of them by dotted name, e.g. {"schedule": "racing", "schedule.first": 100}
    rivals     names of other methods to compare with under the same splits and budget; "all" for those that apply
    runs       folder of runs and of the tournament: the same call continues where it stopped. Of the candidates only the last
               few are stored as runs
    train      trains configs; by default `train_all`, and all candidates but the last few in memory
    notify     called with one line per stage

    Ctrl-C saves what was measured and returns the tournament with status "stopped".
    """
    own = settings.to_dict() if isinstance(settings, SearchSettings) else nested(settings or {})
    given: dict[str, Any] = ({} if k is None else {"k": k}) | ({"budget": budget} if budget else {})
    chosen = SearchSettings.from_dict({**own, **given}, path="search")
    rivals = [rivals] if isinstance(rivals, str) else rivals
    if config.precision == "auto":  # before a run has an id; else the device may be one that only workers have
        config = resolved(config, resolve_device(device))
    plan = prepare(config, chosen)
    chosen_rivals(rivals, plan)
    check_writable(runs)
    trainer = train if isinstance(train, Trainer) else Trainer(train) if train else local_trainer(runs, device, lanes)
    tell = notify or (lambda line: None)
    tournament = Race(plan, Path(runs), trainer, tell).run()
    if rivals and tournament.status == "finished":
        try:
            tell("rivals")
            outcomes = compare(tournament, plan, rivals, Path(runs), trainer.stored)
            tournament.rivals = [one.to_dict() for one in outcomes]
        except StoppedError:
            tournament.status = "stopped"
        save_tournament(runs, tournament.id, tournament.head(), tournament.encoded())
    return tournament


def search_together(
    asked: Sequence[tuple[RunConfig, SearchSettings]],
    *,
    runs: str | Path = "runs",
    device: str = "auto",
    trainer: Trainer | None = None,
) -> list[Tournament]:
    """Several searches at once: what they ask for is trained side by side. Those that are finished are read.

    asked     the configuration and the settings of each
    trainer   trains candidates; by default in this process
    """

    def task(config: RunConfig, settings: SearchSettings) -> Callable[[Trainer], Tournament]:
        return lambda trainer: search(config, settings=settings, runs=runs, device=device, train=trainer)

    return together([task(*one) for one in asked], trainer or local_trainer(runs, device))
