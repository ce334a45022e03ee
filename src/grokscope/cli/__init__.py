"""The command line. Commands import what they need when they run: PyTorch takes seconds, `--help` should not."""

from __future__ import annotations

import sys
from typing import NoReturn

from ..errors import GrokscopeError, nearest
from .app import app
from .front import COMMANDS, register


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a command; every error a user can mend is one line on stderr and exit code 2."""
    register(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(args=arguments, standalone_mode=False)
    except GrokscopeError as error:
        sys.exit(_complain(str(error)))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output went away: not our problem
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        if not hasattr(error, "format_message"):  # a usage error of the option parser has it
            raise
        sys.exit(_complain(_usage(error.format_message())))
    sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str) -> int:
    print(message, file=sys.stderr)
    return 2


def _usage(message: str) -> str:
    """One line, with the nearest command where the command is unknown."""
    message = " ".join(message.split())
    if message.startswith("No such command"):
        word = message.split("'")[1]
        return f"no such command: {word}. {nearest(word, COMMANDS)}"
    return message
