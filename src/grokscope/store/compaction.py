"""The parts of a finished run's metric table, joined: a long run is saved hundreds of times, and readers open every part.

Parts are joined up to each kept checkpoint, so that a run can still go back to any of them. The joined file is complete before the
first part is deleted; until then the parts count as superseded (`layout.part_files`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from .layout import joined_file, label, part_files, superseded_parts
from .tables import encode_table, join, read_part

FEWEST = 8
"""Parts that are joined; fewer are as quick to read, and damage to one of them costs less."""


def compact(
    run: Path, kept: Sequence[int], write: Callable[[Path, bytes], None], remove: Callable[[Path], None]
) -> None:
    """Join the parts of a run that lie between two kept checkpoints."""
    for _, members in groupby(part_files(run), key=lambda part: bisect_left(kept, part.last)):
        parts = list(members)
        if len(parts) >= FEWEST:
            target = joined_file(run, parts[0].first, parts[-1].last)
            write(target, encode_table(join([read_part(part) for part in parts]), label(target)))
    for part in superseded_parts(run):
        remove(part.path)
