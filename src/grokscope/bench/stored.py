"""Stored measurements of speed: JSON that is sealed with a checksum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import ConfigError, StoreError
from ..store import save_file
from ..store.disk import damaged, read
from ..store.seal import KEY, WRONG, is_sealed, parse_json, sealed_json

LABEL = "bench"
"""Not the name of the file, which the user may change."""


def save_measured(path: Path, measured: dict[str, Any]) -> None:
    save_file(path, sealed_json(measured, LABEL))


def read_measured(path: Path, option: str = "--from") -> dict[str, Any]:
    """A measurement; one that has a checksum is verified (what `--json` prints has none).

    option   through which the user gave the path; with --output, only a file of `bench --all` is continued
    """
    try:
        content = read(path)
        measured = parse_json(path, content)
        if KEY in measured and not is_sealed(content, LABEL):
            raise damaged(path, WRONG)
    except StoreError as error:
        raise ConfigError(option, str(error)) from None
    measured.pop(KEY, None)
    readable = {"all", "fleet", "experiments"} if option == "--from" else {"all"}
    if readable.isdisjoint(measured):
        kind = "grokscope bench" if option == "--from" else "grokscope bench --all, and would be replaced"
        raise ConfigError(option, f"{path} is not a measurement of {kind}")
    return measured
