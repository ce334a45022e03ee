"""The registry shared by all components: names to classes, filled by importing every file of a package."""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .errors import ConfigError, nearest, shown

T = TypeVar("T")


class Registry(Generic[T]):
    """The named choices of one component.

    Registering is all it takes: the CLI, the docs and the contract tests read the registry.
    """

    def __init__(self, field: str, package: str = ""):
        self.field = field
        """Name of the setting, e.g. ``task`` or ``attention``; used in error messages."""
        self.package = package
        """The package whose files contain the entries; empty if they are registered by other means."""
        self._entries: dict[str, T] = {}
        self.code: dict[type, dict[str, Any]] = {}
        """The methods of each entry, inherited ones included, as they were when it was registered."""
        self._loaded = False
        self._loading = threading.RLock()

    def register(self, name: str) -> Callable[[T], T]:
        def add(entry: T) -> T:
            if name in self._entries:
                raise ConfigError(self.field, f"{name!r} is registered twice; choose another name")
            self._entries[name] = entry
            if isinstance(entry, type):
                entry.kind = name  # type: ignore[attr-defined]
                self.code[entry] = _methods(entry)
            return entry

        return add

    def replace(self, name: str, entry: T) -> None:
        """Register an entry that may be made anew, such as a model from a module that was edited in a notebook."""
        self.entries()
        self._entries[name] = entry

    def entries(self) -> dict[str, T]:
        """All choices by name; the first call imports the package's files."""
        with self._loading:  # other threads wait until everything is registered
            if not self._loaded:
                self._loaded = True
                if not self.package:
                    return self._entries
                package = importlib.import_module(self.package)
                for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
                    importlib.import_module(f"{self.package}.{module.name}")
        return self._entries

    def get(self, name: Any) -> T:
        entries = self.entries()
        if not isinstance(name, str):
            raise ConfigError(self.field, f"{shown(name)} is not the name of a {self.field}")
        if name not in entries:
            raise ConfigError(self.field, f"no {self.field} is called {shown(name)}. {nearest(name, entries)}")
        return entries[name]

    def patched(self, entry: type) -> list[str]:
        """The methods of an entry that are no longer those it was registered with."""
        if entry not in self.code:
            return []
        then, now = self.code[entry], _methods(entry)
        return sorted(name for name in then.keys() | now.keys() if then.get(name) is not now.get(name))


def is_code(value: object) -> bool:
    """Whether an attribute of a class is a method or a property."""
    return callable(value) or isinstance(value, (property, classmethod, staticmethod))


def _methods(cls: type) -> dict[str, Any]:
    """The methods and properties of a class, as defined in it or in its bases."""
    return {n: value for base in reversed(cls.__mro__) for n, value in vars(base).items() if is_code(value)}


def import_tree(package: str) -> None:
    """Import every module of a package and of its subpackages, so that their entries are registered."""
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        importlib.import_module(module.name)
