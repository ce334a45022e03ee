"""The provenance of a run: versions, device, commit, time and the user's own files; and checks that a folder is a run folder
and holds the requested run."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..loading import loaded_files
from .disk import DamageError, damaged, read
from .layout import CONFIG, MANIFEST, SCHEMA, run_file
from .seal import KEY, WRONG, is_sealed, parse_json, read_sealed_json

PACKAGES = ("grokscope", "torch", "numpy", "scipy", "pandas", "pyarrow", "safetensors")


def new_manifest(device: str, record: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """record   additional entries by name"""
    return {
        **(record or {}),
        "schema": SCHEMA,
        "created": datetime.now(UTC).isoformat(),
        "device": device,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in PACKAGES},
        "git": git_commit(Path(__file__).parent),
        "loaded": loaded_files(),
    }


def read_description(run: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Config and manifest of a run folder; StoreError when it is foreign, damaged or of another schema."""
    try:
        return _read_description(run)
    except DamageError:
        if not run.is_dir():
            raise StoreError(f"{run}: not a folder") from None
        for name in (CONFIG, MANIFEST):
            if not (run / name).exists():
                raise DamageError(f"{run}: not a run folder of grokscope ({name} is missing)") from None
        raise


def _read_description(run: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    path, label = run_file(run, MANIFEST)
    content = read(path)
    manifest = parse_json(path, content)
    schema = manifest.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise StoreError(f"{path}: written by a newer grokscope (schema {schema}, this one reads up to {SCHEMA})")
    if isinstance(schema, int) and schema < SCHEMA and KEY not in manifest:
        raise StoreError(
            f"{run}: written by an older grokscope (schema {schema}), without the checksums of schema {SCHEMA}; "
            f"train it again with --again, or delete it with grokscope rm {run.name}"
        )
    if not is_sealed(content, label):
        raise damaged(path, WRONG)
    del manifest[KEY]
    if schema != SCHEMA or not isinstance(manifest.get("created"), str):
        raise damaged(path, "no schema version or no time of creation")
    return read_sealed_json(*run_file(run, CONFIG)), manifest


def last_numerics(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What a run was last trained with (`ops.blas.numerics`); empty where that is not recorded."""
    numerics: dict[str, Any] = [manifest, *manifest.get("continued", [])][-1].get("numerics", {})
    return numerics


def difference(stored: Any, given: Any, field: str = "") -> str:
    """The first field in which two configs differ, in words; empty when they are equal."""
    if isinstance(stored, dict) and isinstance(given, dict):
        for key in (*stored, *(k for k in given if k not in stored)):
            name = f"{field}.{key}" if field else key
            if key not in stored or key not in given:
                return f"{name} is only in the {'stored' if key in stored else 'given'} one"
            if found := difference(stored[key], given[key], name):
                return found
        return ""
    return "" if stored == given else f"{field} is {stored!r} there and {given!r} here"


@functools.cache
def git_commit(folder: Path) -> str | None:
    """Commit of the checkout that `folder` is tracked in, with "-dirty" when files were changed; None without one."""

    def git(*words: str) -> str:
        command = ("git", "-C", str(folder), *words)
        # Reading must not lock the index while the user commits.
        quiet = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=10, env=quiet).stdout.strip()

    try:
        # An installed copy may lie inside another repository, whose commit would be meaningless.
        git("ls-files", "--error-unmatch", ".")
        return git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    except (OSError, subprocess.SubprocessError):
        return None


def _version(package: str) -> str | None:
    """As the loaded package says, with its build (2.13.0+cu130), which the metadata of an installed one may leave out."""
    loaded = getattr(sys.modules.get(package), "__version__", None)
    return str(loaded) if isinstance(loaded, str) else _installed(package)


@functools.cache
def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
