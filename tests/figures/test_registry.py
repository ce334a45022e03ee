"""The registry of figures: what a decorator gives, which figures a page has, and where names are looked up."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import partial

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.figure import Figure

from grokscope.describe import entry
from grokscope.errors import ConfigError
from grokscope.experiments import all_experiments
from grokscope.experiments.base import Experiment
from grokscope.experiments.drawing import drawn_pictures
from grokscope.figures import figures
from grokscope.report import chosen_pictures, standard_pictures
from grokscope.store.results import Results


@pytest.fixture
def register(monkeypatch):
    """`figures.register`, forgotten after the test."""
    monkeypatch.setattr(figures, "_entries", dict(figures._entries))
    monkeypatch.setattr(figures, "_specs", dict(figures._specs))
    return figures.register


def plain(runs):
    """Nothing but an axis.

    And more about it.
    """
    figure = Figure()
    figure.add_subplot()
    return figure


def test_a_decorator_gives_a_name_a_style_and_defaults_from_the_docstring(register):
    draw = register("my-figure", needs="D")(plain)
    spec = figures.spec("my-figure")
    assert (spec.draw, figures.get("my-figure")) == (draw, draw)
    assert (spec.title, spec.caption, spec.shows) == ("My figure", "Nothing but an axis.", "Nothing but an axis.")
    assert (spec.takes, spec.needs, spec.standard) == ("runs", ("D",), True)
    assert draw([]).axes[0].get_xlim() == (0, 1)
    sizes = []
    register("other")(lambda runs: sizes.append(mpl.rcParams["font.size"]) or Figure())([])
    assert sizes != [mpl.rcParams["font.size"]]


def test_a_name_is_given_once_and_a_wrong_one_names_the_nearest(register):
    with pytest.raises(ConfigError, match="'accuracy' is registered twice"):
        register("accuracy")(plain)
    with pytest.raises(ConfigError, match=r"no figure is called 'acuracy'\. .*accuracy"):
        figures.spec("acuracy")


def test_the_standard_figures_stand_in_their_order_and_a_new_one_comes_last(register):
    names = ["accuracy", "times", "attention", "gradient", "mlp-norm"]
    assert [spec.name for spec in figures.standard()] == names
    register("mine")(plain)
    register("of-results", takes="results")(plain)
    register("not-mine", standard=False)(plain)
    register("first", order=1)(plain)
    assert [spec.name for spec in figures.standard()] == ["first", *names, "mine"]


def test_no_paper_puts_a_figure_on_every_page():
    """Else a page would depend on whether a paper has been imported."""
    figures.entries()
    assert {spec.draw.__module__.split(".")[1] for spec in figures.standard()} == {"figures"}


def test_a_page_of_standard_figures_imports_no_paper():
    code = "import sys; from grokscope.figures import figures; figures.standard(); print('grokscope.papers' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_pictures_are_of_what_was_recorded(register, runs):
    register("mine", needs=("D", "my_metric"), title="Mine", caption="Look here.")(plain)
    assert "mine" not in [picture.name for picture in standard_pictures(runs)]
    measured = [replace(run, metrics=run.metrics.assign(my_metric=1.0)) for run in runs]
    mine = standard_pictures(measured)[-1]
    assert (mine.name, mine.title, mine.caption) == ("mine", "Mine", "Look here.")
    assert mine.alt.startswith("Nothing but an axis. no prior: ")


def test_pictures_are_chosen_by_name(register, runs):
    assert [p.name for p in chosen_pictures(["norms", "times", "norms"], runs)] == ["norms", "times"]
    with pytest.raises(ConfigError, match="'gt-structure' is drawn from the results of an experiment"):
        chosen_pictures(["gt-structure"], runs)
    register("mine", needs="my_metric")(plain)
    with pytest.raises(ConfigError, match="'mine' needs my_metric, which no run recorded after epoch 0"):
        chosen_pictures(["mine"], runs)


def test_a_figure_that_takes_medians_is_given_them(register, runs):
    given = []

    def draw(runs, medians=None):
        given.append(medians)
        return plain(runs)

    register("mine")(draw)
    chosen_pictures(["mine"], runs, {"oracle": 250.0})
    assert given == [{"oracle": 250.0}]


@pytest.mark.parametrize("name", list(figures.entries()))
def test_every_figure_is_described(name):
    about = entry(name, figures.get(name))["about"]
    spec = figures.spec(name)
    assert about.endswith((".", "?")) and spec.title and spec.shows
    assert not spec.standard or (spec.caption != about and spec.needs)


@pytest.fixture
def experiment(tiny, register):
    """One arm, and a picture in each of the ways in which one can be named."""
    register("of-results", takes="results")(plain)
    with_options = register("with-options", takes="results")(lambda results, colour: plain(results))
    pictures = {"a": "times", "b": plain, "c": "of-results", "d": partial(with_options, colour="red")}
    common = {"paper": "toys", "title": "Toy", "question": "?", "claims": []}
    return Experiment(
        name="toy", base=tiny, arms={"q, one": {}, "q, two": {}}, parts=["q"], pictures=pictures, **common
    )


def test_experiments_name_figures_or_give_functions(experiment):
    table = pd.DataFrame({"run": ["x", "y"], "arm": ["q, one", "q, two"], "seed": 0, "epoch": 10, "t_grok": 5})
    curves = pd.DataFrame({"run": ["x", "x", "y", "y"], "epoch": [1, 10, 1, 10]})
    results = Results(
        {}, table.assign(t_mem=1, t_c=None, gradient_fall=None, gradient_rise=None, loss_bump=None), curves
    )
    drawn = list(drawn_pictures(experiment, results))
    assert [picture.file for picture in drawn] == ["a-q", "b-q", "c", "d"]
    assert drawn[0].figure.axes[0].get_yticklabels()[1].get_text() == "two"  # of the part q
    assert drawn[1].caption == "Nothing but an axis."
    assert [picture.title for picture in drawn] == ["Grokking times", "B", "Of results", "With options"]
    twice = replace(experiment, pictures={"all-of-them": "times", "same": "times", "c": "of-results"})
    titles = [picture.title for picture in drawn_pictures(twice, results)]
    assert titles == ["Grokking times: all of them", "Grokking times: same", "Of results"]


@pytest.mark.parametrize("name", list(all_experiments()))
def test_pictures_of_experiments_have_what_they_are_drawn_from(name):
    experiment = all_experiments()[name]
    for picture in experiment.pictures.values():
        spec = figures.spec(picture) if isinstance(picture, str) else figures.spec_of(picture)
        if spec is not None and spec.takes == "results":
            assert set(spec.needs) <= set(experiment.probes)
