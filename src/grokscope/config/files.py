"""Settings from a TOML file, with others on top."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from .merge import merge, nested
from .run import RunConfig


def print_line(line: str) -> None:
    """Print a notice on stderr."""
    print(line, file=sys.stderr)


def read_config(
    file: Path | None, settings: Mapping[str, Any], notify: Callable[[str], None] = print_line
) -> RunConfig:
    """The file's settings with `settings` (dotted names) on top.

    notify   called with one line per setting of the file that the chosen components do not have
    """
    plain = read_toml(file) if file else {}
    for word in ("grid", "seeds"):
        if word in plain:
            raise ConfigError(word, f"{file} is a grid; run it with: grokscope sweep {file}")
    return RunConfig.from_dict(merge(plain, nested(settings), source=str(file), notify=notify))


def read_toml(file: Path) -> dict[str, Any]:
    """The content of a TOML file; ConfigError if it cannot be read."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(str(file), f"cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(str(file), f"is not valid TOML: {error}") from None
    except RecursionError:
        raise ConfigError(str(file), "is nested too deeply") from None
    except ValueError as error:  # such as an integer of more digits than Python reads
        raise ConfigError(str(file), f"has a value that cannot be read: {error}") from None
