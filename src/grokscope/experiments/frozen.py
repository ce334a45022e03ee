"""Rules are frozen before their runs: the hash of every rule is committed first and stored with the results.

`results/rules.json` lists the hashes of all claims (`python -m tools.freeze_rules`). Results name the commit that they were run at;
that commit must already have had the hashes that they store. What changes a hash: the fields of the rule, and the code of its own
columns (registered, or found at collection) and judges. How a rule is printed does not.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import collected, columns

if TYPE_CHECKING:
    from .base import Claim, Experiment

RULES = "rules"
"""Entry of about.json: the hash of every claim's rule."""
COMMIT = "commit"
"""Entry of about.json: the commit that the runs were made at."""
EARLIER = "earlier"
"""Entry of about.json: the earlier parts of results that were made in several (`joining`), with commits and numbers of runs."""
VARIABLE = "GROKSCOPE_COMMIT"
"""Environment variable that names the commit, for a copy of the source without its history."""
LIST = "rules.json"
CHECKOUT = Path(__file__).parents[3]


def rule_hash(claim: Claim) -> str:
    """Twelve hex digits."""
    text = json.dumps(_plain(claim.rule), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def rule_hashes(experiment: Experiment) -> dict[str, str]:
    """By claim."""
    return {claim.name: rule_hash(claim) for claim in experiment.claims}


def _plain(value: Any) -> Any:
    """A value that JSON can hold and that is the same in every process."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (field for field in dataclasses.fields(value) if field.compare)
        # a field added later, with a default, changes no hash
        own = {f.name: getattr(value, f.name) for f in fields if getattr(value, f.name) != f.default}
        return [type(value).__name__, {name: _plain(one) for name, one in own.items()}]
    if isinstance(value, str):
        named: Callable[..., Any] | None = columns.registered.get(value) or collected.registered.get(value)
        return [value, _code(named)] if named else value
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, Sequence):
        return [_plain(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, functools.partial):
        return [_plain(value.func), _plain(value.args), _plain(value.keywords)]
    if callable(value):
        return _code(value)
    return repr(value)


def _code(function: Callable[..., Any]) -> Any:
    """The code without layout and lines of comments, and the values that it has closed over. Not its syntax tree: that, and how it
    is printed, differ between versions of Python."""
    plain = inspect.unwrap(function)
    try:
        lines = inspect.getsource(plain).splitlines()
    except (OSError, TypeError):
        return repr(plain)
    source = " ".join(" ".join(line for line in lines if not line.strip().startswith("#")).split())
    try:
        closed = inspect.getclosurevars(plain).nonlocals
    except TypeError:
        closed = {}
    return [source, {name: _plain(value) for name, value in sorted(closed.items())}] if closed else source


def current_commit() -> str:
    """The commit of the checkout that is running, with "+" if its source was changed since; empty if it is unknown.

    A commit that the environment names comes first.
    """
    if named := os.environ.get(VARIABLE):
        return named
    head = git("rev-parse", "HEAD")
    if head is None:
        return ""
    changed = git("status", "--porcelain", "--untracked-files=no", "--", "src")
    return head + ("+" if changed else "")


def git(*command: str) -> str | None:
    """What a git command prints in the checkout; None if it fails or there is no git folder."""
    if not (CHECKOUT / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(CHECKOUT), *command], capture_output=True, text=True, check=False, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def provenance(about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parts in which results were made, the earliest first: commit, whether its source was changed without being committed,
    and the number of runs."""
    earlier = about.get(EARLIER, [])
    last = {COMMIT: about.get(COMMIT, ""), "runs": about.get("runs", 0) - sum(part["runs"] for part in earlier)}
    return [
        {COMMIT: part[COMMIT].rstrip("+"), "uncommitted_changes": part[COMMIT].endswith("+"), "runs": part["runs"]}
        for part in (*earlier, last)
    ]


def made_from(about: Mapping[str, Any]) -> str:
    """A line about results in several parts or of source that no commit holds; empty for all others."""
    parts = provenance(about)
    if len(parts) == 1 and not parts[0]["uncommitted_changes"]:
        return ""
    changed = {True: " with uncommitted changes of the source", False: ""}
    named = [f"{part[COMMIT][:7] or 'an unknown commit'}{changed[part['uncommitted_changes']]}" for part in parts]
    if len(parts) == 1:
        return f"made from commit {named[0]}"
    return "made in parts: " + ", ".join(
        f"{part['runs']} runs from {name}" for part, name in zip(parts, named, strict=True)
    )


def frozen_at(commit: str) -> dict[str, str] | None:
    """The hashes that a commit lists, by `experiment/claim`; None if the commit is not there or lists none."""
    text = git("show", f"{commit.rstrip('+')}:results/{LIST}")
    return None if text is None else json.loads(text)


def is_ancestor(commit: str) -> bool:
    """Whether a commit is part of the history of this checkout."""
    return git("merge-base", "--is-ancestor", commit.rstrip("+"), "HEAD") is not None
