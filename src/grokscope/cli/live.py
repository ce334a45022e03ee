"""The command that serves the live page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError
from .app import Runs, app


@app.command()
def live(
    folder: Runs = Path("runs"),
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="N", help="Port to listen on; by default the one of last time, or a free one."),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            "--host", metavar="HOST", help="Address to listen on; by default only this machine can reach the page."
        ),
    ] = "127.0.0.1",
) -> None:
    """Watch runs in the browser while they train: curves, phases, attention, speed and time left.

    Prints the address of the page, which contains a token: without it nothing is answered. The page asks nothing of any other
    host. The same command again serves the same address, and a page that is still open continues. Ctrl-C ends it.
    """
    try:
        from ..live.server import serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise ConfigError("live", f"{error.name} is not installed: pip install 'grokscope[live]'") from None
    from ..live.address import is_loopback, listen
    from ..store import check_runs_folder, nearest_folder

    if port is not None and not 0 <= port <= 65535:
        raise ConfigError("--port", f"{port} is outside 0 … 65535")
    if folder.exists() or folder.is_symlink():
        check_runs_folder(folder)
    else:
        hint = nearest_folder(folder)
        print(f"{folder} does not exist yet: runs appear once something is trained there{hint}", file=sys.stderr)
    bound, address = listen(folder, host, port)
    if not is_loopback(host):
        print(
            f"warning: {host} can be reached from other machines. Whoever has the address can read all runs in {folder}, and it "
            "travels unencrypted; ssh -L is safer",
            file=sys.stderr,
        )
    print(address.url, flush=True)
    serve(folder, bound, address)
