"""What is wrong with a command line, in one line with the nearest valid choice."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..errors import nearest
from .front import COMMANDS

SLIP = 0.8
"""How alike a word and an option are that was only mistyped."""
MOST = 4
"""Settings that a message names."""
BY_SETTING = ("--set", "--where")
"""Options that take a setting."""


def usage_line(error: Any) -> str:
    """The message of an error of the option parser."""
    message = " ".join(error.format_message().split())
    if message.startswith("No such option: --load"):
        return "--load: belongs before the command, as in grokscope --load FILE.py train"
    if message.startswith("No such option") and error.ctx is not None:
        return f"no such option: {error.option_name}. {_option_meant(error.option_name, error.ctx)}"
    if message.startswith("No such command"):
        word = message.split("'")[1]
        return f"no such command: {word}. {nearest(word, COMMANDS)}"
    if message.startswith("Got unexpected extra argument") and error.ctx is not None:
        return _argument_meant(message.rpartition(" (")[2].removesuffix(")"), error.ctx)
    return message


def _argument_meant(words: str, context: Any) -> str:
    """A folder of runs that was given without its option, or where to read what the command takes."""
    first, *_ = words.split() or [""]
    takes_runs = any("--runs" in parameter.opts for parameter in context.command.params)
    if takes_runs and first and Path(first).is_dir():
        return f"unexpected argument: {first}. Did you mean --runs {first}?"
    return f"unexpected argument: {words.strip() or repr('')}. grokscope {context.info_name} --help explains what there is."


def _option_meant(word: str, context: Any) -> str:
    """An option that is spelt nearly so; the option that takes the setting of this name; or the nearest option."""
    options = [option for parameter in context.command.params for option in parameter.opts if option.startswith("--")]
    by_setting = next((option for option in BY_SETTING if option in options), None)
    slip = "." not in word and get_close_matches(word, options, n=1, cutoff=SLIP)
    if by_setting and not slip:
        from ..config import RunConfig  # imports PyTorch: only when it may be a setting

        name = word.lstrip("-").replace("-", "_")
        settings = sorted(set(RunConfig.names()))
        known = [setting for setting in settings if f".{setting}".endswith(f".{name}")]
        if not 0 < len(known) <= MOST:
            known = get_close_matches(name, [setting for setting in settings if "." not in setting], n=1, cutoff=SLIP)
        if known:
            return f"Did you mean {' or '.join(f'{by_setting} {setting}=…' for setting in known)}?"
    return nearest(word, options)
