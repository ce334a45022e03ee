"""User files (`--load FILE.py`): imported together with the modules in their folders, and recorded with their source.

Every new run records them (`loaded` in its manifest): what a registered name meant can be read there later.
"""

from __future__ import annotations

import atexit
import base64
import hashlib
import importlib
import importlib.util
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from .errors import ConfigError

USER_MODULE = "grokscope_user_"
"""How the names of the modules of loaded files begin."""


class LoadedFile(NamedTuple):
    """A file as it was when it was imported."""

    path: Path
    content: bytes
    origin: str = ""
    """The path on the machine of the command, where this is a copy on a worker."""

    @property
    def source(self) -> str:
        return self.content.decode("utf-8", errors="replace")

    def to_dict(self) -> dict[str, str]:
        return {
            "path": self.origin or str(self.path),
            "sha256": hashlib.sha256(self.content).hexdigest(),
            "source": self.source,
        }


_files: dict[Path, LoadedFile] = {}
"""Loaded files, and the modules that they imported from their folders."""
_folders: list[Path] = []
"""Folders of the loaded files."""
_origins: dict[Path, str] = {}
"""Copies of files on a worker, with their paths on the machine of the command."""


def load_file(path: Path) -> None:
    """Import a file, which registers its entries. It can import modules in its folder, now and later.

    What the file raises is not wrapped; `error_lines` shows where it comes from.
    """
    if not path.is_file():
        raise ConfigError("--load", f"{path} is not a file")
    path = path.resolve()
    try:
        file = LoadedFile(path, path.read_bytes(), _origins.get(path, ""))
    except OSError as error:
        raise ConfigError("--load", f"{path} cannot be read ({error.strerror})") from None
    if _files.get(path) == file:
        return
    # named after its place: files of the same name in two folders are two modules
    name = f"{USER_MODULE}{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigError("--load", f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    _files[path], sys.modules[name] = file, module  # dataclasses and inspect look a class's module up there
    try:
        with _importing_from(path.parent):
            spec.loader.exec_module(module)
    except BaseException:
        del _files[path], sys.modules[name]
        raise


def loaded_files() -> list[dict[str, str]]:
    """Path, SHA-256 and source of every loaded file and of the modules that were imported from its folder."""
    _remember_neighbours()
    return [file.to_dict() for file in _files.values()]


def travelling_files() -> list[dict[str, Any]]:
    """Loaded files as plain JSON for a worker: path, content, and whether it was loaded itself or imported by one that was."""
    _remember_neighbours()
    return [
        {
            "path": str(file.path),
            "content": base64.b64encode(file.content).decode(),
            "loaded": any(
                name.startswith(USER_MODULE) and _file(module) == str(file.path) for name, module in _modules()
            ),
        }
        for file in _files.values()
    ]


def load_copies(files: Sequence[Mapping[str, Any]]) -> None:
    """On a worker: load files that travelled there, from a temporary folder with the same layout. Runs record their first paths."""
    known = {file.origin: file.content for file in _files.values()}
    contents = {file["path"]: base64.b64decode(file["content"]) for file in files}
    if all(known.get(path) == content for path, content in contents.items()):
        return  # an earlier task of this process brought them
    home = Path(tempfile.mkdtemp(prefix="grokscope-files-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for path, content in contents.items():
        copy = home / Path(path).relative_to(Path(path).anchor)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
        _origins[copy.resolve()] = path
    for file in files:
        if file["loaded"]:
            load_file(home / Path(file["path"]).relative_to(Path(file["path"]).anchor))


def _modules() -> list[tuple[str, ModuleType]]:
    return list(sys.modules.items())


def error_lines(error: BaseException) -> list[str] | None:
    """An error in a loaded file or a module in its folder as three lines: the place, the line of code, the error. None for an error
    that did not pass through one."""
    frames = [(Path(f.filename), f.lineno or 0, f.name) for f in traceback.extract_tb(error.__traceback__)]
    places = [(path, line, f"{_shown(path)}, line {line}, in {name}") for path, line, name in frames if _is_users(path)]
    if isinstance(error, SyntaxError) and error.filename and error.lineno and _is_users(Path(error.filename)):
        path = Path(error.filename)
        places.append((path, error.lineno, f"{_shown(path)}, line {error.lineno}"))
    if not places:
        return None
    path, line, where = places[-1]
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    text = " ".join(message.split())
    name = type(error).__name__
    return [where, f"    {_line_of(path, line)}", f"{name}: {text}" if text else name]


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    """`folder` leads sys.path while a file in it is imported, as for a script, and stays at the end of it afterwards."""
    aside = {
        name: module for name, module in _neighbours() if _exists_in(folder, name) and not _lies_in(folder, module)
    }
    for name in aside:
        del sys.modules[name]
    if folder not in _folders:
        _folders.append(folder)
    importlib.invalidate_caches()
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    _remember_neighbours()
    for name, module in aside.items():
        if sys.modules.setdefault(name, module) is not module:
            other = Path(module.__file__ or "")
            raise ConfigError(
                "--load", f"{other} and a module in {folder} are both called {name!r}: rename one of them"
            )


def _remember_neighbours() -> None:
    for _, module in _neighbours():
        path = Path(module.__file__ or "")
        if path not in _files and path.suffix == ".py" and path.is_file():
            _files[path] = LoadedFile(path, path.read_bytes(), _origins.get(path, ""))


def _neighbours() -> list[tuple[str, ModuleType]]:
    """Modules that were imported from the folders of loaded files."""
    if not _folders:  # asked for every run, and there are thousands of modules
        return []
    prefixes = tuple(f"{folder}{os.sep}" for folder in _folders)
    found = [(name, module) for name, module in list(sys.modules.items()) if _file(module).startswith(prefixes)]
    return [(name, module) for name, module in found if _is_users(Path(_file(module)))]


def _file(module: ModuleType) -> str:
    file = getattr(module, "__file__", None)  # some modules are odd objects
    return file if isinstance(file, str) else ""


def _lies_in(folder: Path, module: ModuleType) -> bool:
    return Path(_file(module)).is_relative_to(folder)


def _exists_in(folder: Path, name: str) -> bool:
    top = folder / name.partition(".")[0]
    return top.with_suffix(".py").is_file() or top.is_dir()


def _is_users(path: Path) -> bool:
    """Whether a file is in the folder of a loaded one. Installed packages do not count, nor does grokscope, wherever they lie."""
    if not path.is_absolute() or {"site-packages", "dist-packages"} & set(path.parts):
        return False
    ours = (Path(__file__).parent, Path(sys.prefix), Path(sys.base_prefix))
    return any(
        path.is_relative_to(folder)
        and not any(place.is_relative_to(folder) and path.is_relative_to(place) for place in ours)
        for folder in _folders
    )


def _shown(path: Path) -> str:
    """A path as short as it can be given from the working folder."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _line_of(path: Path, line: int) -> str:
    """The line as it was imported, even if the file was changed since."""
    try:
        source = _files[path].source if path in _files else path.read_text("utf-8", errors="replace")
        return source.splitlines()[line - 1].strip()
    except (OSError, IndexError):
        return ""
