"""The command plot: figures of stored runs, and movies."""

import json
from dataclasses import replace

import pytest
from PIL import Image

from grokscope.config import Log, RunConfig
from grokscope.launch.local import train_all
from grokscope.models.embedding_mlp import EmbeddingMLP
from grokscope.models.mlp import MLP
from grokscope.models.transformer import Transformer
from grokscope.tasks.modular import Modular
from grokscope.tasks.parity import Parity
from grokscope.tickets.trained import Magnitude

TINY = RunConfig(
    task=Modular(p=7, alphabet=3, train_fraction=0.6),
    model=Transformer(d=8, d_mlp=16, heads=2),
    epochs=10,
    log=Log(every=2, keep=2),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("plotted")


def stored(folder, config):
    (run,) = train_all([config], runs=folder, device="cpu")
    return run.id


def frames_of(path):
    with Image.open(path) as movie:
        return movie.n_frames


def test_figures_are_listed_with_what_they_are_drawn_from(run):
    code, out, _ = run("plot")
    named = {line.split()[0]: line.split()[1] for line in out.splitlines()}
    assert code == 0 and named["accuracy"] == "curves" and named["embedding"] == named["movie"] == "checkpoints"
    assert "si-dial" not in named  # of an experiment only
    assert {one["name"] for one in json.loads(run("plot", "--json")[1])} == set(named)


@pytest.mark.parametrize("name", ["accuracy", "attention-map", "embedding", "gt-structure"])
def test_a_figure_is_written_as_svg_and_png(run, folder, tmp_path, name):
    code, out, err = run("plot", name, stored(folder, TINY), "--runs", folder, "-o", tmp_path / "own.png", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == [str(tmp_path / "own.svg"), str(tmp_path / "own.png")]
    assert "<svg" in (tmp_path / "own.svg").read_text(encoding="utf-8")


def test_every_listed_figure_is_drawn_or_refused_in_one_line(run, folder, tmp_path):
    id = stored(folder, TINY)
    drawn = set()
    for one in json.loads(run("plot", "--json")[1]):
        code, _, err = run("plot", one["name"], id, "--runs", folder, "-o", tmp_path / one["name"])
        assert code == 0 or (code == 2 and err.count("\n") == 1 and "Error" not in err), (one["name"], err)
        drawn |= {one["name"]} if code == 0 else set()
    assert {"attention-map", "causes-gradients", "ib-movement", "ib-kernel", "gt-structure", "times"} <= drawn


@pytest.mark.parametrize("name", ["gt-masks", "gt-mask-periods", "gt-spectra", "embedding", "times"])
def test_a_ticket_is_drawn_without_the_run_that_it_comes_from(run, folder, tmp_path, name):
    dense = replace(TINY, task=replace(TINY.task, distractors=0), model=EmbeddingMLP(d=8, d_mlp=8))
    ticket = stored(folder, replace(dense, ticket=Magnitude(run=stored(folder, dense))))
    code, _, err = run("plot", name, ticket, "--runs", folder, "-o", tmp_path / "own")
    assert (code, err) == (0, "") and (tmp_path / "own.svg").stat().st_size > 5000


@pytest.mark.parametrize("ending", ["gif", "webp"])
def test_a_movie_has_a_frame_for_every_checkpoint(run, folder, tmp_path, ending):
    code, out, _ = run("plot", "movie", stored(folder, TINY), "--runs", folder, "-o", tmp_path / f"own.{ending}")
    assert code == 0 and out.strip() == str(tmp_path / f"own.{ending}")
    assert frames_of(tmp_path / f"own.{ending}") == 5


def test_a_movie_without_attention_shows_the_embeddings(run, folder, tmp_path):
    id = stored(folder, replace(TINY, task=replace(TINY.task, distractors=0), model=EmbeddingMLP(d=8, d_mlp=8)))
    assert run("plot", "movie", id, "--runs", folder, "-o", tmp_path / "own.gif")[0] == 0
    assert frames_of(tmp_path / "own.gif") == 5


@pytest.mark.parametrize(
    ("config", "words", "problem"),
    [
        (TINY, ["acuracy"], "Did you mean accuracy"),
        (TINY, ["si-dial"], "results of an experiment"),
        (TINY, ["movie", "-o", "own.avi"], "a movie ends in .gif, .webp or .mp4"),
        (
            TINY,
            ["gt-mask-periods"],
            "figure: 'gt-mask-periods' needs what probe mask-entropy finds, and in these runs it finds "
            "nothing, as for a run without masks, or whose weights have no tokens",
        ),
        (replace(TINY, seed=1, log=Log(every=5)), ["movie"], "the run has 1 checkpoints: train it with log.keep"),
        (replace(TINY, task=Parity(form="signs"), model=MLP(width=4)), ["movie"], "no attention and no modular task"),
        (replace(TINY, task=Parity(form="signs"), model=MLP(width=4)), ["attention-map"], "model mlp has no attention"),
        (replace(TINY, task=Parity(n=6, k=2)), ["embedding"], "learns parity"),
        (replace(TINY, task=Parity(form="signs"), model=MLP(width=4)), ["attention"], "needs attention_0"),
    ],
)
def test_bad_input_is_one_line(run, folder, config, words, problem):
    name, *more = words
    code, out, err = run("plot", name, stored(folder, config), "--runs", folder, *more)
    assert (code, out) == (2, "") and problem in err and err.count("\n") == 1


def test_mp4_needs_ffmpeg(run, folder, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    code, _, err = run("plot", "movie", stored(folder, TINY), "--runs", folder, "-o", "own.mp4")
    assert code == 2 and "needs the program ffmpeg" in err
