"""One checksum for every file that numbers come from. It covers the bytes of the file and its label: whose file it is (a run, or
an experiment at a scale) and which one. A flipped bit, a truncated file, and a file that was swapped with another, of the same
run or of another one, are therefore detected before anything is parsed.

The writer puts BLANK into the file's own metadata (the header of safetensors, the footer of Parquet, the last key of JSON);
sealing replaces its zeros by the CRC-32 of the label and the whole file with the zeros in place. Other programs read the file as
usual. Where a file cannot hold its checksum, `checksum` gives one to store elsewhere.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .disk import damaged, read

BLANK = "crc32=00000000"
KEY = "checksum"
"""The last key of a sealed JSON object."""
WRONG = "its checksum is wrong or missing: it was changed, or it is not the file that belongs here"

_SCAN = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # public in the documentation, absent from the stubs
_SEAL, _MARK = re.compile(rb"crc32=([0-9a-f]{8})"), b"crc32="


def sealed(content: bytes, label: str) -> bytes:
    """`content`, which holds BLANK, with the checksum in its place."""
    # The last one: only text before it, such as other values of a JSON object, may contain the same letters.
    place = content.rindex(BLANK.encode())
    seal = f"crc32={_crc(content, label, place):08x}".encode()
    view = memoryview(content)  # slices of the bytes themselves would copy a checkpoint four times
    return b"".join((view[:place], seal, view[place + len(BLANK) :]))


def is_sealed(content: bytes, label: str) -> bool:
    """Whether these are the bytes that were sealed under this label."""
    # The same letters may occur elsewhere by chance or in the caller's metadata: one valid seal is enough. In JSON it comes last.
    last = _SEAL.match(content, max(content.rfind(_MARK), 0))
    if last and _crc(content, label, last.start()) == int(last[1], 16):
        return True
    return any(_crc(content, label, seal.start()) == int(seal[1], 16) for seal in _SEAL.finditer(content))


def read_sealed(path: str | Path, label: str) -> bytes:
    """The bytes of a file, verified; StoreError if they differ from what was written under this label."""
    content = read(path)
    if not is_sealed(content, label):
        raise damaged(path, WRONG)
    return content


def sealed_json(content: dict[str, Any], label: str, indent: int | None = 2) -> bytes:
    """JSON without NaN or infinity, which other programs cannot read; its last key is the checksum.

    indent   None for large content: it is encoded ten times faster
    """
    text = json.dumps({**content, KEY: BLANK}, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"
    return sealed(text.encode(), label)


def sealed_json_list(content: dict[str, Any], name: str, encoded: Iterable[str], label: str) -> bytes:
    """The same as `sealed_json` with a list as a further entry, whose elements are encoded already (`plain_json`)."""
    text = f'{plain_json(content)[:-1]}, "{name}": [{", ".join(encoded)}], "{KEY}": "{BLANK}"}}\n'
    return sealed(text.encode(), label)


def plain_json(content: dict[str, Any]) -> str:
    """JSON on one line, in the form in which it is sealed."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def read_sealed_json(path: str | Path, label: str) -> dict[str, Any]:
    """The verified object in a file, without its checksum."""
    plain = parse_json(path, read_sealed(path, label))
    plain.pop(KEY, None)
    return plain


def parse_json(path: str | Path, content: bytes) -> dict[str, Any]:
    """The object in the content of a JSON file, not verified."""
    try:
        text = content.decode()
        # Without the decoder's two calls around it, which take as long as a small file.
        plain, end = _SCAN(text, 0) if text.startswith("{") else (json.loads(text), len(text))
        if end != len(text) and not text[end:].isspace():
            raise ValueError("more than one JSON object")
    except StopIteration as error:
        raise damaged(path, "not JSON") from error
    except (ValueError, RecursionError) as error:
        raise damaged(path, error) from error
    if not isinstance(plain, dict):
        raise damaged(path, "not a JSON object")
    return plain


def checksum(content: bytes, label: str) -> str:
    """The checksum of a file that cannot hold it, e.g. "crc32=0123abcd"."""
    return f"crc32={zlib.crc32(content, _start(label)):08x}"


def _crc(content: bytes, label: str, place: int) -> int:
    """CRC-32 of the label and of the content as it was with BLANK at `place`."""
    view = memoryview(content)
    before = zlib.crc32(view[:place], _start(label))
    return zlib.crc32(view[place + len(BLANK) :], zlib.crc32(BLANK.encode(), before))


def _start(label: str) -> int:
    return zlib.crc32(label.encode() + b"\0")
