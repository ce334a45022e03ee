"""The command line. Commands import what they need when they run: PyTorch takes seconds, `--help` should not."""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import os
import sys
import traceback
from typing import NoReturn

from ..errors import GrokscopeError
from ..helpers import limit_numpy
from ..loading import error_lines
from .app import app
from .front import COMMANDS, register
from .usage import usage_line

COMPLETE = "_GROKSCOPE_COMPLETE"
"""Set by the shell when it asks what can come next; the words of the command line are then in COMP_WORDS."""
NO_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""Errors of a standard output that is full, broken or closed."""


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a command. An error that a user can correct is one line on stderr and exit code 2; an error in a file of the user's
    own is three lines: the place, the line of code, the error. Output that cannot be written is one line and exit code 1.
    GROKSCOPE_TRACEBACK=1 shows whole tracebacks instead."""
    if arguments is None:  # the process ends with the command
        atexit.register(_skip_last_collection)
    limit_numpy()
    words = sys.argv[1:] if arguments is None else arguments
    register(COMMANDS if COMPLETE in os.environ else words)
    try:
        code = app(args=arguments, standalone_mode=False)
        if sys.stdout is not None:  # None if it was closed by the caller
            sys.stdout.flush()  # here, where a failure can be reported, rather than when the interpreter ends
    except GrokscopeError as error:
        sys.exit(_complain(str(error), error))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output went away: not our problem
        _discard_output()
        sys.exit(0)
    except Exception as error:
        # The store and the commands name the file that cannot be written; without a name it is the standard output.
        if isinstance(error, OSError) and error.filename is None and error.errno in NO_OUTPUT:
            _discard_output()
            _complain(f"the output cannot be written ({error.strerror})", error)
            sys.exit(1)
        if hasattr(error, "format_message"):  # a usage error of the option parser
            sys.exit(_complain(usage_line(error), error))
        if (lines := error_lines(error)) is None:
            raise
        sys.exit(_complain("\n".join(lines), error))
    sys.exit(code if isinstance(code, int) else 0)


def _skip_last_collection() -> None:
    """Spare the interpreter its last search for garbage, which takes as long as importing PyTorch. Not where Triton is loaded: it
    would report what was not collected as leaks."""
    if "triton" not in sys.modules:
        gc.freeze()


def _discard_output() -> None:
    """Drop what is still in the buffer of the standard output: the interpreter would try to write it once more, and complain."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _complain(message: str, error: Exception) -> int:
    if os.environ.get("GROKSCOPE_TRACEBACK", "0") not in ("", "0"):
        traceback.print_exception(error)
    else:
        print(message, file=sys.stderr)
    return 2
