"""Where the page is served: the port, the token without which nothing is answered, and which Host headers are accepted.

Port and token of a folder are kept in the user's cache (readable by the user alone): a page that is open in a browser finds the
server again after a restart.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import ipaddress
import json
import os
import secrets
import socket
import stat
import time
from pathlib import Path
from typing import NamedTuple

from ..errors import ConfigError

LOOPBACK = "127.0.0.1"


class Address(NamedTuple):
    host: str
    port: int
    token: str

    @property
    def url(self) -> str:
        host = socket.gethostname() if self.host in ("", "0.0.0.0", "::") else self.host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/?token={self.token}"

    def accepts(self, header: str) -> bool:
        """Whether a Host header names this server. A web page elsewhere can let its own name point here (DNS rebinding); only
        numeric addresses, localhost, and the names that the user or the machine goes by are accepted."""
        name = header.rsplit(":", 1)[0] if not header.endswith("]") else header
        name = name.strip("[]").lower().rstrip(".")
        with contextlib.suppress(ValueError):
            ipaddress.ip_address(name)
            return True
        return name in {"localhost", self.host.lower(), socket.gethostname().lower()} - {""}


def is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def listen(folder: Path, host: str, port: int | None) -> tuple[socket.socket, Address]:
    """A listening socket, and its address. Without a port, the one of last time or else a free one."""
    token, last = _remembered(folder, host)
    token = token or secrets.token_urlsafe(24)
    taken = None
    for pause in (0.3, 0.6, 0.0) if port is None and last else ():  # the server of last time may be about to end
        with contextlib.suppress(OSError):
            taken = _bound(host, last)
            break
        time.sleep(pause)
    if taken is None:
        try:
            taken = _bound(host, port or 0)
        except OverflowError:
            raise ConfigError("--port", f"{port} is outside 0 … 65535") from None
        except socket.gaierror:
            raise ConfigError("--host", f"unknown host {host!r}; {LOOPBACK} is this machine") from None
        except OSError as error:
            raise _refused(host, port, error) from None
    taken.listen(128)
    address = Address(host, taken.getsockname()[1], token)
    _remember(folder, address)
    return taken, address


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the connections of last time may linger
        bound.bind(place)
    except BaseException:
        bound.close()
        raise
    return bound


def _refused(host: str, port: int | None, error: OSError) -> ConfigError:
    if error.errno == errno.EADDRINUSE:
        return ConfigError("--port", f"{port} is in use; choose another one, or omit --port to take a free one")
    if error.errno == errno.EACCES:
        return ConfigError("--port", f"{port} may not be used without privileges; choose one above 1023")
    if error.errno == errno.EADDRNOTAVAIL:
        return ConfigError("--host", f"{host} is not an address of this machine; {LOOPBACK} is")
    return ConfigError("--port", f"cannot listen on {host}:{port or 0} ({error.strerror})")


def _file(folder: Path, host: str) -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    key = hashlib.sha256(f"{folder.absolute()}\n{host}".encode()).hexdigest()[:16]
    return Path(cache) / "grokscope" / "live" / f"{key}.json"


def _remembered(folder: Path, host: str) -> tuple[str, int]:
    """Token and port of last time; empty if there was none, or if anybody else could have written or read them."""
    try:
        descriptor = os.open(_file(folder, host), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, encoding="utf-8") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
                return "", 0
            plain = json.load(file)
        token, port = plain["token"], plain["port"]
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return "", 0
    return (token, port) if isinstance(token, str) and len(token) >= 32 and isinstance(port, int) else ("", 0)


def _remember(folder: Path, address: Address) -> None:
    """Best effort: without it the next server has another address."""
    with contextlib.suppress(OSError, RuntimeError):
        path = _file(folder, address.host)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump({"token": address.token, "port": address.port}, file)
        os.replace(draft, path)
