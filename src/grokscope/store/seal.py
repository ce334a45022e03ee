"""A checksum inside the file it protects, so that a flipped bit or a truncated file is detected before it is parsed.

The writer puts BLANK somewhere into the file's own metadata (the header of safetensors, the footer of Parquet); sealing
replaces its zeros by the CRC-32 of the whole file with the zeros in place. Other programs read the file as usual.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path

from .disk import damaged, read

BLANK = "crc32=00000000"

_SEAL = re.compile(rb"crc32=([0-9a-f]{8})")


def sealed(content: bytes) -> bytes:
    """`content`, which holds BLANK, with the checksum in its place."""
    place = content.index(BLANK.encode())
    return content[:place] + f"crc32={_crc(content, place):08x}".encode() + content[place + len(BLANK) :]


def read_sealed(path: Path) -> bytes:
    """The bytes of a file, verified against its checksum; StoreError if they differ from what was written."""
    content = read(path)
    # The same bytes may occur elsewhere by chance or in the caller's metadata: one valid seal is enough.
    if not any(_crc(content, seal.start()) == int(seal[1], 16) for seal in _SEAL.finditer(content)):
        raise damaged(path, "its checksum is wrong or missing")
    return content


def _crc(content: bytes, place: int) -> int:
    """CRC-32 of the content as it was with BLANK at `place`."""
    view = memoryview(content)
    return zlib.crc32(view[place + len(BLANK) :], zlib.crc32(BLANK.encode(), zlib.crc32(view[:place])))
