"""Runs command lines in a process of its own: the entries they load cannot be unloaded again.

Reads a JSON list of lists of words from stdin, writes [exit code, what was printed] of each to stdout.
"""

import contextlib
import io
import json
import sys

from grokscope.cli import main

if __name__ == "__main__":  # helper processes import this file
    results = []
    for words in json.load(sys.stdin):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                main(words)
            except SystemExit as stop:
                results.append([stop.code, printed.getvalue()])
    json.dump(results, sys.stdout)
