"""The server: the page, a stream of messages to it, and the report. Nothing is answered without the token."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from ..errors import ConfigError, GrokscopeError
from .address import Address
from .board import Board
from .choice import read_choice
from .freeze import frozen
from .page import render
from .positions import PositionNames
from .view import View

POLL = 0.4
"""Seconds between two looks at the folder."""
LOOK = 0.2
"""Seconds between two looks at the board, by each page."""
PATIENCE = 2.0
"""Seconds that a page waits for a folder to be read once, before it is shown how far that has come."""
ALIVE = 5.0
"""Seconds after which an idle stream says that it is alive."""
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
REPORT_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


class Live:
    """The board of a folder and the pages that look at it."""

    def __init__(self, folder: Path, address: Address):
        self.board = Board(folder)
        self.address = address
        self.positions = PositionNames()
        self.pages = 0
        self.stopped = Event()

    def app(self) -> Callable[..., Awaitable[None]]:
        routes = {"/": self.page, "/events": self.events, "/report": self.report}
        answers = Starlette(routes=[Route(path, answer) for path, answer in routes.items()])

        async def guarded(scope: Any, receive: Any, send: Any) -> None:
            refusal = self._refusal(Request(scope))
            await (refusal or answers)(scope, receive, send)

        return guarded

    def watch(self) -> None:
        """Poll the folder while a page is open."""
        while not self.stopped.is_set():
            if self.pages:
                try:
                    self.board.poll()
                except Exception as error:  # shown on the page; the next poll may succeed
                    with self.board.lock:
                        self.board.problem = f"{type(error).__name__}: {error}"
                        self.board.version += 1
            self.stopped.wait(POLL if self.pages else LOOK)

    def _refusal(self, request: Request) -> Response | None:
        token = request.query_params.get("token", "")
        why = ""
        if not self.address.accepts(request.headers.get("host", "")):
            why = "this server goes by another name: use the address that grokscope live printed"
        elif not secrets.compare_digest(token.encode(), self.address.token.encode()):
            why = "the address needs the token that grokscope live printed"
        return PlainTextResponse(f"403: {why}\n", 403, headers=HEADERS) if why else None

    async def page(self, request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        html = render(str(self.board.folder), nonce)
        return HTMLResponse(html, headers={**HEADERS, "Content-Security-Policy": policy})

    async def events(self, request: Request) -> Response:
        try:
            view = View(self.board, read_choice(request.query_params.get("view", "")), self.positions)
        except ConfigError as error:
            return PlainTextResponse(str(error), 400, headers=HEADERS)
        return StreamingResponse(self._stream(view), media_type="text/event-stream", headers=HEADERS)

    async def report(self, request: Request) -> Response:
        try:
            choice = read_choice(request.query_params.get("view", ""))
            if not self.pages:  # nobody polls for it
                await run_in_threadpool(self.board.poll)
            html = await run_in_threadpool(frozen, self.board, choice)
        except GrokscopeError as error:
            return PlainTextResponse(str(error), 400, headers=HEADERS)
        return HTMLResponse(html, headers={**HEADERS, "Content-Security-Policy": REPORT_POLICY})

    async def _stream(self, view: View) -> AsyncIterator[str]:
        """Messages whenever the board changes. A large view takes at most a quarter of the time of one core."""
        if not self.pages:  # nobody has looked since: what is known of the folder may be old
            self.board.polled = False
        self.pages += 1
        begin = silent = time.monotonic()
        seen, due = None, 0.0
        try:
            yield "retry: 1000\n\n"
            while not self.stopped.is_set():
                now = time.monotonic()
                if not self.board.polled and now - begin < PATIENCE:  # an empty board would empty a page that is open
                    await asyncio.sleep(LOOK)
                    continue
                state = (self.board.version, self.board.unread, view.names_known())
                if state != seen and now >= due:
                    seen = state
                    message = await run_in_threadpool(self._message, view)
                    yield f"data: {message}\n\n"
                    silent = time.monotonic()
                    due = silent + 4 * (silent - now)
                elif now - silent > ALIVE:
                    silent = now
                    yield ": alive\n\n"
                await asyncio.sleep(LOOK)
        finally:
            self.pages -= 1

    def _message(self, view: View) -> str:
        with self.board.lock:
            message = view.message()
        # U+2028 and the like are no line ends in an event stream, and JSON has none of the others
        return json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def serve(folder: Path, bound: socket.socket, address: Address) -> None:
    """Serve until interrupted."""
    with contextlib.suppress(KeyboardInterrupt):
        server_of(Live(folder, address)).run(sockets=[bound])
    print("stopped", file=sys.stderr)


def server_of(live: Live) -> uvicorn.Server:
    """A server that is ready to run; it ends its streams when it is asked to exit."""
    config = uvicorn.Config(
        live.app(),
        log_level="error",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)

    def end_streams() -> None:
        while not server.should_exit:
            time.sleep(LOOK)
        live.stopped.set()

    for work in (live.watch, end_streams):
        Thread(target=work, daemon=True).start()
    return server
