"""Records of jobs that were handed to a cluster: `<runs>/.jobs/<name>.json`, one per submission. They outlive the command."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..store.disk import listing, make_folder, read, remove, write

if TYPE_CHECKING:
    from .executors import Executor

JOBS = ".jobs"


@dataclass(frozen=True, kw_only=True, eq=False)
class Record:
    """One submission."""

    name: str
    path: Path
    on: str
    """Name of the executor."""
    options: dict[str, Any]
    """Settings of the executor."""
    created: str
    jobs: dict[str, list[str]]
    """The runs of each job."""
    data: dict[str, Any] = field(default_factory=dict)
    """Whatever the executor needs to find the jobs again."""

    def executor(self) -> Executor:
        from .executors import executors

        return executors.get(self.on).from_dict(self.options, path=self.on)

    def active(self) -> dict[str, str]:
        """Jobs that have not ended, with their state in words. The record is deleted once all have."""
        found = self.executor().active(self.__dict__)
        if not found:
            remove(self.path)
        return found


def jobs_folder(runs: Path) -> Path:
    return runs.resolve() / JOBS


def new_name() -> str:
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def save_record(runs: Path, place: Executor, name: str, jobs: Mapping[str, Sequence[str]], **data: Any) -> None:
    make_folder(jobs_folder(runs))
    plain = {
        "on": place.kind,
        "options": {key: value for key, value in place.to_dict().items() if key != "kind"},
        "created": datetime.now(UTC).isoformat(),
        "jobs": {job: list(ids) for job, ids in jobs.items()},
        "data": data,
    }
    write(jobs_folder(runs) / f"{name}.json", json.dumps(plain).encode())


def records(runs: Path) -> list[Record]:
    """All records, the oldest first. One that cannot be read is passed over: it holds nothing but the names of jobs."""
    found = []
    for path in sorted(listing(jobs_folder(runs))):
        if path.suffix == ".json":
            try:
                found.append(Record(name=path.stem, path=path, **json.loads(read(path))))
            except (ValueError, TypeError):
                continue
    return found


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """Jobs of earlier commands that have not ended."""

    runs: frozenset[str]
    words: str
    active: Callable[[], bool]


def busy_elsewhere(place: Executor, runs: Path, ids: Collection[str]) -> Earlier:
    """Jobs of this executor that have not ended and hold some of these runs."""
    own = [record for record in records(runs) if record.on == place.kind]
    found = {(record, job): state for record in own for job, state in record.active().items()}
    mine = {key: state for key, state in found.items() if not set(ids).isdisjoint(key[0].jobs.get(key[1], ()))}
    held = {id for record, job in mine for id in record.jobs[job] if id in ids}
    words = [f"{job} ({state})" for (_, job), state in mine.items()]
    shown = ", ".join(words[:4]) + (", …" if len(words) > 4 else "")

    def active() -> bool:
        return any(job in record.active() for record, job in mine)

    return Earlier(runs=frozenset(held), words=shown, active=active)
