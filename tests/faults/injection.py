"""Faults in the store, in this process: the Nth call of one kind that touches a folder fails as a full or broken disk would."""

import builtins
import errno
import io
import os
from collections import Counter
from contextlib import contextmanager
from unittest import mock

KINDS = ("open", "write", "fsync", "replace", "unlink", "mkdir", "scandir")
ERRORS = {
    "write": errno.ENOSPC,
    "replace": errno.ENOSPC,
    "mkdir": errno.ENOSPC,
    "scandir": errno.EIO,
    "unlink": errno.EIO,
}


class Faults:
    """Counts the calls that the store makes below a folder, and lets one of them fail."""

    def __init__(self, folder, kind="", number=0):
        self.folder, self.kind, self.number = str(folder), kind, number
        self.calls = Counter()
        self.struck = ""
        """The file at which the fault struck, if it did."""

    def note(self, kind, path):
        path = os.fspath(path) if isinstance(path, (str, os.PathLike)) else _path_of(path)
        if not str(path).startswith(self.folder):
            return
        self.calls[kind] += 1
        if (kind, self.calls[kind]) == (self.kind, self.number):
            self.struck = str(path)
            raise OSError(ERRORS.get(kind, errno.EIO), "injected fault", str(path))

    def wrap(self, kind, function):
        def called(path, *arguments, **options):
            self.note(kind, path)
            return function(path, *arguments, **options)

        return called

    @contextmanager
    def active(self):
        file_open = builtins.open

        def opened(path, mode="r", *arguments, **options):
            if not isinstance(path, int):
                self.note("open", path)
            return _Watched.of(self, file_open(path, mode, *arguments, **options), mode)

        names = {"fsync": "fsync", "replace": "replace", "rename": "replace", "unlink": "unlink", "mkdir": "mkdir"}
        names |= {"open": "open", "write": "write", "scandir": "scandir", "listdir": "scandir"}
        patches = [mock.patch.object(os, name, self.wrap(kind, getattr(os, name))) for name, kind in names.items()]
        patches += [mock.patch.object(module, "open", opened) for module in (builtins, io)]
        for patch in patches:
            patch.start()
        try:
            yield self
        finally:
            for patch in patches:
                patch.stop()


class _Watched:
    """A file open for writing whose writes count as calls."""

    def __init__(self, faults, file):
        self._faults, self._file = faults, file

    @classmethod
    def of(cls, faults, file, mode):
        return cls(faults, file) if any(letter in mode for letter in "wax+") and "b" in mode else file

    def write(self, content):
        self._faults.note("write", self._file.fileno())
        return self._file.write(content)

    def __enter__(self):
        self._file.__enter__()
        return self

    def __exit__(self, *error):
        return self._file.__exit__(*error)

    def __getattr__(self, name):
        return getattr(self._file, name)


def _path_of(descriptor):
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""
